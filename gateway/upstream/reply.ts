/** What an upstream said to one call: a value, whatever it said. */
export type Reply =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'error'; readonly code: number; readonly message: string; readonly data: unknown };

/** Why an upstream's words are of no use to the caller, so that another is asked. */
export type FailureClass =
  | 'transport' // refused, cut off, timed out, 5xx
  | 'malformed' // no JSON-RPC reply, another call's reply, an impossible result
  | 'wrong-chain' // its eth_chainId is another network's
  | 'rate' // too many requests
  | 'quota' // the plan is used up
  | 'auth' // our credentials are refused
  | 'unsupported' // it lacks the method
  | 'too-large' // it does not allow a request of this size
  | 'node-state' // it does not have the state, block or index that the call needs
  | 'unknown'; // an error that no rule knows

/** No usable reply. Only `Upstreams` catches it. The message is for the log and holds no host. */
export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure';
  readonly failure: FailureClass;
  /** A kept-alive connection was closed under us before a byte of the reply came: the call may be sent again. */
  readonly staleConnection: boolean;

  constructor(failure: FailureClass, message: string, staleConnection = false) {
    super(message);
    this.failure = failure;
    this.staleConnection = staleConnection;
  }
}

/** What is made of an attempt: the last word, or a reason to ask another upstream. */
export type Verdict = { readonly final: true; readonly reply: Reply } | Failed;

export interface Failed {
  readonly final: false;
  readonly failure: FailureClass;
  /** What the node said, where it said anything. */
  readonly reply: Reply | undefined;
}
