import { clock } from '../clock/clock.ts';
import { turnBudget, type TurnBudget } from './turn-budget.ts';

/** Shorter slices of work are not worth a look at the budget. */
const SLICE_MS = 0.5;

/** Long work of one owner, which is charged step by step, and goes on when the owner may run. */
export class OwnedSteps {
  readonly #owner: string;
  readonly #budget: TurnBudget;
  readonly #limit: (turn: Promise<void>) => Promise<void>;
  #startedAt = clock.now();

  /** @param limit ends the wait for a turn, such as at a deadline */
  constructor(owner: string, budget = turnBudget, limit = (turn: Promise<void>): Promise<void> => turn) {
    this.#owner = owner;
    this.#budget = budget;
    this.#limit = limit;
    budget.begin();
  }

  /** Waits between two steps if needed. @returns undefined to continue at once, or a promise to await first */
  next(): Promise<void> | undefined {
    this.charge();
    const turn = this.#budget.next(this.#owner);
    return turn && this.#limit(turn).finally(this.resumed);
  }

  /** The same between two of many short steps, which are charged together. */
  afterSlice(): Promise<void> | undefined {
    return clock.now() - this.#startedAt < SLICE_MS ? undefined : this.next();
  }

  /** Charges the time of the last step. */
  charge(): void {
    const now = clock.now();
    this.#budget.charge(this.#owner, now - this.#startedAt);
    this.#startedAt = now;
  }

  readonly resumed = (): void => {
    this.#budget.begin();
    this.#startedAt = clock.now();
  };
}
