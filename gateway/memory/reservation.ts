import { gatehouse, type Account } from '../admission/account.ts';
import type { MemoryBudget } from './memory-budget.ts';

/**
 * The bytes that one request, with its response, takes from the memory budget. After its release it takes nothing more:
 * then the caller has disconnected, and the rest of the work is about to end.
 */
export class Reservation {
  readonly #budget: MemoryBudget;
  /** Account: that of Gatehouse itself until the caller is known. Bytes are taken only after that. */
  account: Account;
  /** A transaction has been sent to an upstream: its response is delivered, whatever the memory. */
  mustDeliver = false;
  #bytes = 0;
  #isCounted = false;
  #isReleased = false;

  constructor(budget: MemoryBudget, account = gatehouse) {
    this.#budget = budget;
    this.account = account;
  }

  /** Counts the request as one in progress. @throws RpcError memory-pressure, overloaded or memory-share */
  begin(bytes: number): void {
    if (this.account !== gatehouse) this.#budget.guard?.admit(this.account);
    this.take(bytes);
    if (this.#isReleased || this.#isCounted) return;
    this.#budget.beginRequest();
    this.#isCounted = true;
  }

  /** Accounts the bytes to another account. */
  moveTo(account: Account): void {
    if (this.#bytes > 0) {
      this.#budget.add(this.account, -this.#bytes);
      this.#budget.add(account, this.#bytes);
    }
    this.account = account;
  }

  canTake(bytes: number): boolean {
    return this.#budget.canTake(this.account, bytes);
  }

  /**
   * @param isInProgress the bytes are of the small response to a call in progress, which are taken also when memory is high
   * @throws RpcError memory-pressure, overloaded or memory-share; then nothing is taken
   */
  take(bytes: number, isInProgress = false): void {
    if (this.#isReleased) return;
    this.#budget.take(this.account, bytes, isInProgress);
    this.#bytes += bytes;
  }

  /** Adds bytes that cannot be rejected. */
  add(bytes: number): void {
    this.setTo(this.#bytes + bytes);
  }

  /** Releases a part of the bytes, which `setTo` may have released already. */
  giveBack(bytes: number): void {
    this.setTo(Math.max(0, this.#bytes - bytes));
  }

  /** Sets the bytes to those that are still buffered. */
  setTo(bytes: number): void {
    if (this.#isReleased || bytes === this.#bytes) return;
    this.#budget.add(this.account, bytes - this.#bytes);
    this.#bytes = bytes;
  }

  release(): void {
    this.setTo(0);
    this.#isReleased = true;
    if (this.#isCounted) this.#budget.endRequest();
    this.#isCounted = false;
  }
}
