/** How many requests and sockets hold on to something that may be replaced: after the last, it can be let go of. */
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

  /** Resolves once nobody holds on to it. To be asked for when nobody new can come. */
  async whenUnused(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => (this.#onUnused = resolve));
  }
}
