/** Receives the results of a feed in order, from the moment it joins. The functions must not throw. */
export interface Subscriber {
  /** The account whose time of the event loop its deliveries use. */
  readonly owner?: string | undefined;
  /** Nothing more is delivered. */
  readonly isClosed?: boolean;
  /** Of heads, the client gets hashes only: these do not show that blocks are missing between them. */
  readonly hidesGaps?: boolean;
  /** @param results one for each notification, as JSON text */
  deliver(results: readonly string[]): void;
  /**
   * Results were lost and cannot be recovered, or are those of another chain. The client must learn it.
   * @param reason default: `missed-blocks`
   */
  markGap(reason?: 'missed-blocks' | 'other-chain'): void;
}

/** Ends the delivery. */
export type Unsubscribe = () => void;
