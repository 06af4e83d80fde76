import type { Holder } from './holder.ts';
import type { MemoryBudget } from './memory-budget.ts';

/**
 * The bytes that one request, with its response, takes from the memory budget. After its release it takes nothing more:
 * then the caller has disconnected, and the rest of the work is about to end.
 */
export class Reservation {
  readonly #budget: MemoryBudget;
  /** Undefined until it is known. Bytes are taken only after that. */
  holder: Holder | undefined;
  #bytes = 0;
  #isCounted = false;
  #isReleased = false;

  constructor(budget: MemoryBudget, holder?: Holder) {
    this.#budget = budget;
    this.holder = holder;
  }

  /** Counts the request as one in progress. @throws RpcError memory-pressure, overloaded or memory-share */
  begin(bytes: number): void {
    if (this.holder !== undefined) this.#budget.admit(this.holder);
    this.take(bytes);
    if (this.#isReleased || this.#isCounted) return;
    this.#budget.beginRequest();
    this.#isCounted = true;
  }

  /** Accounts the bytes to another holder. */
  moveTo(holder: Holder): void {
    if (this.#bytes > 0) {
      this.#budget.add(this.holder, -this.#bytes);
      this.#budget.add(holder, this.#bytes);
    }
    this.holder = holder;
  }

  canTake(bytes: number): boolean {
    return this.#budget.canTake(this.holder, bytes);
  }

  /** @throws RpcError overloaded or memory-share; then nothing is taken */
  take(bytes: number): void {
    if (this.#isReleased) return;
    this.#budget.take(this.holder, bytes);
    this.#bytes += bytes;
  }

  /** Releases a part of the bytes. */
  giveBack(bytes: number): void {
    this.setTo(this.#bytes - bytes);
  }

  /** Sets the bytes to those that are still buffered. */
  setTo(bytes: number): void {
    if (this.#isReleased || bytes === this.#bytes) return;
    this.#budget.add(this.holder, bytes - this.#bytes);
    this.#bytes = bytes;
  }

  release(): void {
    this.setTo(0);
    this.#isReleased = true;
    if (this.#isCounted) this.#budget.endRequest();
    this.#isCounted = false;
  }
}
