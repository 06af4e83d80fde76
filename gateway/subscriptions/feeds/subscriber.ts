/** Who is told of what happens on a network, in order, from when it joined. Nothing here may throw. */
export interface Subscriber {
  /** @param results one for each notification, as JSON text */
  deliver(results: readonly string[]): void;
  /** So much was missed that it cannot be made good. Whoever goes on must know that there is a gap. */
  markGap(): void;
}

/** Ends the telling. */
export type Unsubscribe = () => void;
