/** What an upstream said to one call: a value, whatever it said. */
export type UpstreamResponse = ResultResponse | LargeResponse | ErrorResponse;

export interface ResultResponse {
  readonly kind: 'result';
  readonly result: unknown;
  /** The same as JSON, as it came, where that is at hand. */
  readonly text?: string;
}

/** A large result, of which no values were made: it may pass as it came. */
export interface LargeResponse {
  readonly kind: 'large';
  /** One after the other they are JSON, if it is any: whoever passes it on looks first. */
  readonly parts: readonly [Buffer, ...Buffer[]];
  /** What a smaller reply would have been at once. @throws UpstreamFailure */
  readonly parse: () => ResultResponse | ErrorResponse;
}

export interface ErrorResponse {
  readonly kind: 'error';
  readonly code: number;
  readonly message: string;
  readonly data: unknown;
  /** Of HTTP. It says something only where the text says nothing. */
  readonly status?: number;
  /** From its `Retry-After`. */
  readonly retryAfterMs?: number | undefined;
}

/** A result of our own that goes out as it is. */
export function jsonResponse(json: string | Buffer): LargeResponse {
  const parse = () => ({ kind: 'result', result: JSON.parse(String(json)) as unknown }) as const;
  return { kind: 'large', parts: [typeof json === 'string' ? Buffer.from(json) : json], parse };
}

/** @throws UpstreamFailure */
export function parseResponse(response: UpstreamResponse): ResultResponse | ErrorResponse {
  return response.kind === 'large' ? response.parse() : response;
}

/** Why an upstream's words are of no use to the caller, so that another is asked. */
export type FailureClass =
  | 'transport' // refused, cut off, timed out, 5xx
  | 'slow' // timed out, while other calls were answered
  | 'malformed' // no JSON-RPC reply, another call's reply, an impossible result
  | 'wrong-chain' // its eth_chainId is another network's
  | 'rate' // too many requests, or more work than it can do now
  | 'quota' // the plan is used up
  | 'auth' // our credentials are refused
  | 'unsupported' // it lacks the method
  | 'too-large' // it does not allow a request of this size
  | 'not-found' // it knows no such thing, which another may know
  | 'node-state' // it does not have the state, block or index that the call needs
  | 'no-block' // it says that there is no such block
  | 'unknown'; // an error that no rule knows

/** No usable reply. Only `Router` catches it. The message is for the log and holds no host. */
export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure';
  readonly failure: FailureClass;
  /** A kept-alive connection was closed under us before a byte of the reply came: the call may be sent again. */
  readonly staleConnection: boolean;
  /** How long the upstream asks to be left alone. */
  readonly retryAfterMs: number | undefined;
  /** The caller's time was over before the upstream's: it says nothing of the upstream. */
  isCallerTimeout = false;

  constructor(failure: FailureClass, message: string, staleConnection = false, retryAfterMs?: number) {
    super(message);
    this.failure = failure;
    this.staleConnection = staleConnection;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Nothing, or not all, came in time. */
export class TimedOut extends UpstreamFailure {
  constructor() {
    super('transport', 'timed out');
  }
}
