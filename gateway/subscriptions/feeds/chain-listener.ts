/** Who is told of what happens on a network, in order, from when it joined. Nothing here may throw. */
export interface ChainListener {
  /** @param results one for each notification, as JSON text */
  notify(results: readonly string[]): void;
  /** So much was missed that it cannot be made good. Whoever goes on must know that there is a gap. */
  markGap(): void;
}

/** Ends the telling. */
export type Unsubscribe = () => void;
