import type { KeyAccess } from '../auth/key-access.ts';
import type { Call } from '../jsonrpc/envelope.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Shortage } from '../limits/limit-state.ts';
import type { NetworkMethod } from '../networks/network.ts';
import type { PartCharges } from '../ranges/part-requests.ts';
import { roundUnits } from '../spec/request-units.ts';

/** Of the call. */
interface ChargeContext {
  readonly access: KeyAccess;
  readonly limiter: Limiter;
}

/** Charges the key for the parts of a range, as if the caller had sent them: for what they cost beyond the call. */
export class ChargedParts implements PartCharges {
  readonly #call: Call;
  readonly #method: NetworkMethod;
  readonly #context: ChargeContext;
  /** Units that are charged already, of the call at first. */
  #credit: number;

  /** @param method that has the range: another one than that of the call for the logs of a filter */
  constructor(call: Call, method: NetworkMethod, context: ChargeContext) {
    this.#call = call;
    this.#method = method;
    this.#context = context;
    this.#credit = call.requestUnits ?? 0;
  }

  async charge(params: readonly unknown[]): Promise<Shortage | undefined> {
    const units = this.#method.unitsOf(params);
    const fromCredit = Math.min(units, this.#credit);
    this.#credit = roundUnits(this.#credit - fromCredit);
    const due = roundUnits(units - fromCredit);
    if (due === 0) return undefined;
    const shortage = await this.#take(due);
    if (shortage === undefined) this.#call.requestUnits = roundUnits((this.#call.requestUnits ?? 0) + due);
    else this.#credit += fromCredit;
    return shortage;
  }

  refund(params: readonly unknown[]): void {
    this.#credit += this.#method.unitsOf(params);
  }

  async #take(units: number): Promise<Shortage | undefined> {
    const { access, limiter } = this.#context;
    const { limits } = access;
    if (limits?.isCharged !== true) return undefined;
    const { name } = this.#method.spec;
    const byMethod = new Map(limits.methodRates?.has(name) === true ? [[name, units]] : []);
    return (await limiter.charge(limits, { units, byMethod })).shortage;
  }
}
