import { gatehouse, type Account } from '../../admission/account.ts';
import { Gate } from '../../admission/gate.ts';
import { clock } from '../../clock/clock.ts';
import type { Cancellation } from './cancellation.ts';
import { callerTimeout } from './upstream-response.ts';

/** A larger response takes a turn. Most blocks and lists are smaller: a key gets many of them at once. */
export const TURN_OVER_BYTES = 2_000_000;

/** Large responses of an upstream to each owner: one at a time arrives, or waits for its check. */
export class LargeTurns {
  readonly #gate = new Gate({ slots: Infinity, perOwner: 1, rejection: callerTimeout });

  /** Turn of a call, which must end. Undefined: its response waits for no other one. */
  turnOf(owner: Account = gatehouse): LargeTurn | undefined {
    return owner === gatehouse ? undefined : new LargeTurn(this.#gate, owner);
  }
}

/** Turn of one large response among those of its owner. */
export class LargeTurn {
  readonly #gate: Gate;
  readonly #owner: Account;
  #hasBegun = false;
  #hasEnded = false;
  /** The wait for the turn. Defined from then on. */
  #waiting: Promise<boolean> | undefined;

  constructor(gate: Gate, owner: Account) {
    this.#gate = gate;
    this.#owner = owner;
  }

  /**
   * Takes the turn, once: bytes that were read before a pause may call it again.
   * @returns undefined if it begins at once; else a promise of whether it has not ended meanwhile
   * @throws callerTimeout at the deadline, Cancelled (rejects with it)
   */
  begin(deadline: number, cancellation: Cancellation | undefined): Promise<boolean> | undefined {
    if (this.#hasBegun || this.#hasEnded) return undefined;
    if (this.#waiting !== undefined) return this.#waiting;
    this.#hasBegun = this.#gate.tryEnter(this.#owner);
    return this.#hasBegun ? undefined : (this.#waiting = this.#wait(deadline, cancellation));
  }

  async #wait(deadline: number, cancellation: Cancellation | undefined): Promise<boolean> {
    await this.#gate.wait(this.#owner, deadline - clock.now(), cancellation);
    if (this.#hasEnded) this.#gate.leave(this.#owner);
    this.#hasBegun = !this.#hasEnded;
    return this.#hasBegun;
  }

  end(): void {
    if (this.#hasBegun && !this.#hasEnded) this.#gate.leave(this.#owner);
    this.#hasEnded = true;
  }
}
