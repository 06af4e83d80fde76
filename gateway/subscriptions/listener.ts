/** Who is told of what happens on a network, in order, from when it joined. Nothing here may throw. */
export interface Listener {
  /** @param results one for each notification, as JSON text */
  tell(results: readonly string[]): void;
  /** So much was missed that it cannot be made good. Whoever goes on must know that there is a gap. */
  lose(): void;
}

/** Ends the telling. */
export type Leave = () => void;
