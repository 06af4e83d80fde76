import { gatehouse, type Account } from '../../admission/account.ts';
import { Gate } from '../../admission/gate.ts';
import { clock } from '../../clock/clock.ts';
import type { Cancellation } from './cancellation.ts';
import { callerTimeout } from './upstream-response.ts';

/** A larger response takes a turn. Most blocks and lists are smaller: a key gets many of them at once. */
export const TURN_OVER_BYTES = 2_000_000;

/** Turns of the large responses of an upstream to each owner: one at a time arrives, or waits for its check. */
export function largeTurns(): Gate {
  return new Gate({ slots: Infinity, perOwner: 1, rejection: callerTimeout });
}

/** A request whose sender ends the turn of its response. */
export interface TurnTaker {
  /** Undefined: its response waits for no other one. */
  readonly turns?: Gate | undefined;
  /** Turn of its response, when that has become large. */
  largeTurn?: LargeTurn | undefined;
}

/** Turn of one large response among those of its owner. */
export class LargeTurn {
  /**
   * Start of the turn: whether it has not ended meanwhile. Rejects with callerTimeout or Cancelled. Undefined: it began at once.
   */
  readonly begun: Promise<boolean> | undefined;
  /** Time for which it has waited. */
  waitedMs = 0;
  readonly #gate: Gate;
  readonly #owner: Account;
  #hasSlot: boolean;
  #hasEnded = false;

  constructor(gate: Gate, deadline: number, cancellation: Cancellation | undefined) {
    this.#gate = gate;
    this.#owner = cancellation?.owner ?? gatehouse;
    this.#hasSlot = gate.tryEnter(this.#owner);
    if (!this.#hasSlot) this.begun = this.#wait(deadline, cancellation);
  }

  /** Takes the turn of a response that has become large, once. @returns undefined: it has none */
  static of(
    taker: TurnTaker | undefined,
    deadline: number,
    cancellation: Cancellation | undefined,
  ): LargeTurn | undefined {
    if (taker?.turns === undefined) return undefined;
    return (taker.largeTurn ??= new LargeTurn(taker.turns, deadline, cancellation));
  }

  async #wait(deadline: number, cancellation: Cancellation | undefined): Promise<boolean> {
    const startedAt = clock.now();
    await this.#gate.wait(this.#owner, deadline - startedAt, cancellation);
    this.waitedMs = clock.now() - startedAt;
    this.#hasSlot = true;
    if (this.#hasEnded) this.end();
    return !this.#hasEnded;
  }

  end(): void {
    this.#hasEnded = true;
    if (this.#hasSlot) this.#gate.leave(this.#owner);
    this.#hasSlot = false;
  }
}
