import type { KeyLimits, PublicLimits, PublicShare } from '../auth/permissions/key-limits.ts';
import type { ChargeOutcome } from './account-units.ts';
import { briefShortage, type Charge, type Shortage } from './limit-state.ts';
import type { WorkerShares } from './machine-shares.ts';
import type { ShareCounts, ShareOutcome } from './share-counts.ts';

/** The limits of all callers without a key together: those of an account, which the limiter charges. */
export interface TotalLimiter {
  charge(limits: KeyLimits, charge: Charge): ChargeOutcome | Promise<ChargeOutcome>;
  shortageOf(limits: KeyLimits): Shortage | undefined;
}

/**
 * Charges bodies of callers without a key: to the share of their address, then to the limits of all of them together. The
 * shares are counted in this gateway only, in tables of bounded size: so they cannot fill Redis, which has the keys. Each of
 * several workers counts them, and the primary counts them for all.
 */
export class PublicCharges {
  /** Charges by outcome: taken; rejected by the share of the address, by that of those without a place, by the total. */
  readonly counts = { taken: 0, address: 0, 'table-full': 0, total: 0 };
  readonly #total: TotalLimiter;
  readonly #shares: ShareCounts;
  readonly #machine: WorkerShares | undefined;

  /** @param shares counted here  @param machine undefined: no other worker counts */
  constructor(total: TotalLimiter, shares: ShareCounts, machine: WorkerShares | undefined) {
    this.#total = total;
    this.#shares = shares;
    this.#machine = machine;
  }

  /** Number of accounts of addresses. */
  get size(): number {
    return this.#shares.size;
  }

  /** Takes a charge as a whole, or reports the limit that rejects it. The promise never rejects. */
  charge(limits: PublicLimits, charge: Charge): ChargeOutcome | Promise<ChargeOutcome> {
    // Before the share of the address, which otherwise would be charged for bodies that this limit rejects.
    const exhausted = this.#totalShortage(limits);
    if (exhausted !== undefined) return this.#rejectedByAll(exhausted);
    const { share } = limits;
    if (share === undefined) return this.#chargeAll(limits, charge, { shortage: undefined, allowance: undefined });
    const outcome = this.#shares.take(share, charge.units);
    if (outcome.shortage !== undefined) return this.#rejectedByShare(outcome.shortage, outcome.hasPlace);
    const machine = this.#machine;
    if (machine?.mustCheck(outcome) === true) return this.#chargeAtPrimary(machine, limits, share, charge, outcome);
    machine?.report(share, charge.units);
    return this.#chargeAll(limits, charge, outcome);
  }

  /** The limit that rejects a charge of one unit now, as far as this gateway knows. */
  shortageOf(limits: PublicLimits): Shortage | undefined {
    const shortage = limits.share && this.#shares.shortageOf(limits.share);
    return shortage === undefined ? this.#totalShortage(limits) : { ...shortage, scope: 'address' };
  }

  #totalShortage({ all }: PublicLimits): Shortage | undefined {
    return all === undefined ? undefined : this.#total.shortageOf(all);
  }

  async #chargeAtPrimary(
    machine: WorkerShares,
    limits: PublicLimits,
    share: PublicShare,
    charge: Charge,
    outcome: ShareOutcome,
  ): Promise<ChargeOutcome> {
    if (await machine.charge(share, charge.units)) return this.#chargeAll(limits, charge, outcome);
    const shortage =
      this.#shares.shortageOf(share, charge.units) ?? briefShortage('rate-limit', 'rate', charge, outcome.allowance);
    return this.#rejectedByShare(shortage, outcome.hasPlace);
  }

  #chargeAll(limits: PublicLimits, charge: Charge, outcome: ChargeOutcome): ChargeOutcome | Promise<ChargeOutcome> {
    const { all, share } = limits;
    const finish = ({ shortage }: ChargeOutcome): ChargeOutcome => {
      if (shortage === undefined) {
        this.counts.taken++;
        return outcome;
      }
      if (share !== undefined) {
        this.#shares.add(share, -charge.units);
        this.#machine?.report(share, -charge.units);
      }
      return this.#rejectedByAll(shortage);
    };
    if (all === undefined) return finish(outcome);
    const charged = this.#total.charge(all, charge);
    return charged instanceof Promise ? charged.then(finish) : finish(charged);
  }

  #rejectedByShare(shortage: Shortage, hasPlace: boolean): ChargeOutcome {
    this.counts[hasPlace ? 'address' : 'table-full']++;
    return { shortage: { ...shortage, scope: 'address' }, allowance: shortage.allowance };
  }

  #rejectedByAll(shortage: Shortage): ChargeOutcome {
    this.counts.total++;
    return { shortage: { ...shortage, scope: 'all' }, allowance: shortage.allowance };
  }
}
