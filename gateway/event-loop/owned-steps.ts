import { turnBudget } from './turn-budget.ts';

/** Long work of one owner, which is charged step by step, and goes on when the owner may run. */
export class OwnedSteps {
  readonly #owner: string;
  #startedAt = performance.now();

  constructor(owner: string) {
    this.#owner = owner;
    turnBudget.begin();
  }

  /** Between two steps. @returns undefined to continue at once, or a promise to await first */
  next(): Promise<void> | undefined {
    this.charge();
    return turnBudget.next(this.#owner)?.then(this.#resumed);
  }

  /** After the last step. */
  charge(): void {
    const now = performance.now();
    turnBudget.charge(this.#owner, now - this.#startedAt);
    this.#startedAt = now;
  }

  readonly #resumed = (): void => {
    turnBudget.begin();
    this.#startedAt = performance.now();
  };
}
