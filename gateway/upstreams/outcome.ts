import type { UpstreamResponse, ResultResponse, ErrorResponse, FailureClass } from './transport/upstream-response.ts';

/** What is made of an attempt: the last word, or a reason to ask another upstream. */
export type Outcome = FinalOutcome | FailedOutcome;

export interface FinalOutcome {
  readonly final: true;
  readonly response: UpstreamResponse;
  /** The node left something out; the same node, asked this, may tell it. What it says then completes the reply. */
  readonly followUp?: FollowUp;
}

export interface FollowUp {
  readonly method: string;
  readonly params: readonly unknown[];
  /** Undefined: the response says no more than the first one. */
  readonly complete: (response: ResultResponse | ErrorResponse) => UpstreamResponse | undefined;
}

export interface FailedOutcome {
  readonly final: false;
  readonly failure: FailureClass;
  /** What the node said, where it said anything. */
  readonly response: UpstreamResponse | undefined;
  /** It had failed before, and was asked as a last resort or as a trial. */
  readonly wasDown?: boolean;
  /** How long the upstream asks to be left alone. */
  readonly retryAfterMs?: number | undefined;
  /** The same upstream, asked this, may prove what `reply` is a guess at. */
  readonly followUp?: FollowUp;
}
