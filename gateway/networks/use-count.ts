/** Counts the requests and sockets that use a network. A replaced network is closed after the last one. */
export class UseCount {
  #count = 0;
  #onUnused: (() => void) | undefined;

  begin(): void {
    this.#count++;
  }

  end(): void {
    this.#count--;
    if (this.#count === 0) this.#onUnused?.();
  }

  /** Resolves when the count is zero. Call it after the network is replaced, so that no use begins. */
  async whenUnused(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => (this.#onUnused = resolve));
  }
}
