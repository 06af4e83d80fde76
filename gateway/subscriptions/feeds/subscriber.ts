/** Receives the results of a feed in order, from the moment it joins. The functions must not throw. */
export interface Subscriber {
  /** The account whose time of the event loop its deliveries use. */
  readonly owner?: string | undefined;
  /** Whether nothing more is delivered. */
  readonly isClosed?: boolean;
  /**
   * @param results one for each notification, as JSON text
   * @param block the number that the feed has given to their block: its logs or receipts are charged together
   */
  deliver(results: readonly string[], block?: number): void;
  /**
   * Results were lost and cannot be recovered, or are those of another chain. The client must learn it.
   * @param reason default: `missed-blocks`
   */
  markGap(reason?: 'missed-blocks' | 'other-chain'): void;
}

/** Ends the delivery. */
export type Unsubscribe = () => void;
