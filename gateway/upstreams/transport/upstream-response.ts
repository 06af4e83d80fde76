import type { OwnedSteps } from '../../event-loop/owned-steps.ts';
import type { Proof } from '../../jsonrpc/proof.ts';

/** The JSON-RPC response of an upstream to one call. */
export type UpstreamResponse = ResultResponse | LargeResponse | ErrorResponse;

export interface ResultResponse {
  readonly kind: 'result';
  readonly result: unknown;
  /** The original JSON text of the result, if known. */
  readonly text?: string;
  /** Proof of the response; undefined: it was not verified. */
  readonly proof?: Proof;
}

/** A large result that is not parsed, so that its bytes can be passed on. */
export interface LargeResponse {
  readonly kind: 'large';
  /** Parts that, concatenated, are the result as JSON, which is not validated yet. */
  readonly parts: readonly [Buffer, ...Buffer[]];
  /** Proof of the response; undefined: it was not verified. */
  readonly proof?: Proof;
  /** The bytes of the response are taken from the memory budget already. */
  readonly isReserved?: true;
  /** Parses the whole response. @throws UpstreamFailure */
  readonly parse: () => ResultResponse | ErrorResponse;
  /** Reads the whole response by its members, if the bytes are more than one value. @throws UpstreamFailure (rejects with it) */
  readonly reread?: (steps: OwnedSteps) => Promise<UpstreamResponse>;
}

export interface ErrorResponse {
  readonly kind: 'error';
  readonly code: number;
  readonly message: string;
  readonly data: unknown;
  /** HTTP status. Rules use it only if the text matches no rule. */
  readonly status?: number;
  /** Pause of the header `Retry-After`. */
  readonly retryAfterMs?: number | undefined;
  /** Proof, only of an error on which upstreams agree. */
  readonly proof?: Proof;
}

/** A response with a result that is JSON text already. */
export function jsonResponse(json: string | Buffer): LargeResponse {
  const parse = () => ({ kind: 'result', result: JSON.parse(String(json)) as unknown }) as const;
  return { kind: 'large', parts: [typeof json === 'string' ? Buffer.from(json) : json], parse };
}

/** @throws UpstreamFailure */
export function parseResponse(response: UpstreamResponse): ResultResponse | ErrorResponse {
  return response.kind === 'large' ? response.parse() : response;
}

/** Why an upstream response is not usable, so that the call goes to another upstream. */
export type FailureClass =
  | 'transport' // refused, cut off, timed out, 5xx
  | 'slow' // timed out, while other calls were successful
  | 'malformed' // not JSON-RPC, the id of another call, an impossible result
  | 'disproved' // the result is wrong, as a hash, a root or other upstreams show
  | 'unproven' // nothing proves the result, which `verify: require` requires
  | 'wrong-chain' // eth_chainId returned another network's id
  | 'rate' // rate limited or overloaded
  | 'quota' // the plan is exhausted
  | 'auth' // the gateway's credentials are rejected
  | 'unsupported' // the method is not supported
  | 'too-large' // the request exceeds the upstream's limits
  | 'not-found' // not found, but another upstream may have it
  | 'node-state' // the state, block or index for the call is not available
  | 'no-block' // the upstream reports that the block does not exist
  | 'unknown'; // an error that matches no rule

/** The failure class of an HTTP status, for responses whose text has no class. 520 to 524 are Cloudflare's. */
export const failureOfStatus: Readonly<Record<number, FailureClass>> = {
  401: 'auth',
  402: 'quota',
  403: 'auth',
  408: 'transport',
  413: 'too-large',
  429: 'rate',
  502: 'transport',
  503: 'transport',
  504: 'transport',
  520: 'transport',
  521: 'transport',
  522: 'transport',
  523: 'transport',
  524: 'transport',
};

/** No usable response. Only `attempt` and `OwnRequests` catch it. The message is for the log, and contains no host. */
export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure';
  readonly failure: FailureClass;
  /** A keep-alive connection was closed before the first byte of the response: the call may be sent again. */
  readonly staleConnection: boolean;
  /** Pause of the header `Retry-After`. */
  readonly retryAfterMs: number | undefined;
  /** The caller's time limit was shorter than the upstream's, or nothing was sent: not an upstream failure. */
  isCallerTimeout = false;
  /** Whether nothing of the call was sent, so that the call is not the cause. */
  isUnsent = false;

  constructor(failure: FailureClass, message: string, staleConnection = false, retryAfterMs?: number) {
    super(message);
    this.failure = failure;
    this.staleConnection = staleConnection;
    this.retryAfterMs = retryAfterMs;
  }
}

export function malformed(message: string): UpstreamFailure {
  return new UpstreamFailure('malformed', message);
}

/** More bytes than the gateway reads. */
export class ResponseTooLarge extends UpstreamFailure {
  constructor() {
    super('malformed', 'the response is too large');
  }
}

/** More values or levels than a response of the method has. The result of the call may be the cause. */
export class TooManyValues extends UpstreamFailure {
  constructor() {
    super('malformed', 'the response has more values or levels than a response of the method has');
  }
}

/** The response was not complete in time. */
export class TimedOut extends UpstreamFailure {
  constructor() {
    super('transport', 'timed out');
  }
}

/** Timeout of a call that waited for other calls of its owner. */
export function callerTimeout(): TimedOut {
  const failure = new TimedOut();
  failure.isCallerTimeout = true;
  return failure;
}

/** The call waited for a slot during its whole time limit, and was not sent. */
export class NoFreeSlot extends UpstreamFailure {
  override isCallerTimeout = true;

  constructor() {
    super('slow', 'no free slot');
  }
}

/** A timeout of a call that had less time than this, as at the end of a long batch, is not an upstream failure. */
export const MIN_COUNTED_TIMEOUT_MS = 400;

/** Minimum time left for a further attempt: with less, it would time out and count against a healthy upstream. */
export const MIN_ATTEMPT_MS = 10;
