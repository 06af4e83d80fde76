import type { TrueBlock } from './true-chain.ts';

export type Tag = 'latest' | 'safe' | 'finalized';

/** The newest served blocks by tag; `state`: the newest block of which state was served, without the block itself. */
export type NewestServed = Readonly<Partial<Record<Tag | 'state', TrueBlock>>>;

/** What had been served when a call was sent. */
export interface SentCall {
  readonly at: number;
  readonly newest: NewestServed;
}

/** A call that was sent, and the time of its response. */
export interface Exchange {
  readonly sent: SentCall;
  readonly at: number;
  /** Describes the call in violations. */
  readonly of: string;
}
