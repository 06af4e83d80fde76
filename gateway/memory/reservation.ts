import type { MemoryBudget } from './memory-budget.ts';

/**
 * The bytes that one request, with its response, takes from the memory budget. After its release it takes nothing more:
 * then the caller has disconnected, and the rest of the work is about to end.
 */
export class Reservation {
  readonly #budget: MemoryBudget;
  #holder: string;
  #bytes = 0;
  #isCounted = false;
  #isReleased = false;

  constructor(budget: MemoryBudget, holder: string) {
    this.#budget = budget;
    this.#holder = holder;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get holder(): string {
    return this.#holder;
  }

  /** Counts the request as one in progress. @throws RpcError overloaded or memory-share */
  begin(bytes: number): void {
    this.take(bytes);
    if (this.#isReleased || this.#isCounted) return;
    this.#budget.beginRequest();
    this.#isCounted = true;
  }

  /** Accounts the bytes to another holder. */
  moveTo(holder: string): void {
    if (holder === this.#holder) return;
    if (this.#bytes > 0) {
      this.#budget.release(this.#holder, this.#bytes);
      this.#budget.takeAnyway(holder, this.#bytes);
    }
    this.#holder = holder;
  }

  canTake(bytes: number): boolean {
    return this.#budget.canTake(this.#holder, bytes);
  }

  /** @throws RpcError overloaded or memory-share; then nothing is taken */
  take(bytes: number): void {
    if (this.#isReleased) return;
    this.#budget.take(this.#holder, bytes);
    this.#bytes += bytes;
  }

  /** Releases a part of the bytes. */
  giveBack(bytes: number): void {
    if (!this.#isReleased) this.setTo(this.#bytes - bytes);
  }

  /** Sets the bytes to those that are still buffered. */
  setTo(bytes: number): void {
    if (this.#isReleased) return;
    if (bytes > this.#bytes) this.#budget.takeAnyway(this.#holder, bytes - this.#bytes);
    else this.#budget.release(this.#holder, this.#bytes - bytes);
    this.#bytes = bytes;
  }

  release(): void {
    this.setTo(0);
    this.#isReleased = true;
    if (this.#isCounted) this.#budget.endRequest();
    this.#isCounted = false;
  }
}
