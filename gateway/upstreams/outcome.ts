import type { FlowingResponse } from './transport/flowing-result.ts';
import type { UpstreamResponse, ResultResponse, ErrorResponse, FailureClass } from './transport/upstream-response.ts';

/** Classification of an upstream response: final, or an upstream failure. */
export type Outcome = FinalOutcome | FailedOutcome;

export interface FinalOutcome {
  readonly final: true;
  readonly response: UpstreamResponse;
  /** The upstream has the transaction that was sent: it accepted it, or had it before. */
  readonly hasTransaction?: true;
  /** The response lacks something that the same upstream may return for this request. */
  readonly followUp?: FollowUp;
}

/** A large result that still arrives, as its caller gets it. */
export interface FlowingOutcome {
  readonly final: true;
  readonly response: FlowingResponse;
}

/** Outcome of one attempt of a call. */
export type AttemptOutcome = Outcome | FlowingOutcome;

/** A second request to the same upstream, which completes its first response. */
export interface FollowUp {
  readonly method: string;
  readonly params: readonly unknown[];
  /** @returns undefined if the second response adds nothing to the first one */
  readonly complete: (response: ResultResponse | ErrorResponse) => UpstreamResponse | undefined;
}

export interface FailedOutcome {
  readonly final: false;
  readonly failure: FailureClass;
  /** Response; undefined if the upstream returned no JSON-RPC response. */
  readonly response: UpstreamResponse | undefined;
  /** Description of what happened, if there is no response. */
  readonly detail?: string;
  /** Whether nothing of the call was sent. */
  readonly isUnsent?: true;
  /** The circuit was open or half-open when the call was sent. */
  readonly wasCircuitOpen?: boolean;
  /** The result is of a block that the network does not follow: the upstream may be late. */
  readonly isOnOtherBranch?: true;
  /** `response` is a list of logs that is not in order. Another upstream may have it in order. */
  readonly isIrregular?: true;
  /** Pause that the upstream's `Retry-After` or its error requests. */
  readonly retryAfterMs?: number | undefined;
  /** `response` is a guess, which the response to this request may prove. */
  readonly followUp?: FollowUp;
}
