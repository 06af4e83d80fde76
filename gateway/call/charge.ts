import { teamIn } from '../auth/formats/team.ts';
import type { KeyLimits } from '../auth/permissions/key-limits.ts';
import { OwnedSteps } from '../event-loop/owned-steps.ts';
import type { InvalidItem } from '../jsonrpc/envelope.ts';
import { infuraErrors, RpcError, type InfuraError } from '../jsonrpc/errors.ts';
import type { ChargeOutcome } from '../limits/account-units.ts';
import type { Shortage } from '../limits/limit-state.ts';
import type { ReplaceableConfig } from '../network-files/network-config.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import { roundUnits } from '../spec/request-units.ts';
import type { Call, CallContext } from './call.ts';
import { readsFilterLogs, requestUnitsOf } from './check.ts';

/** Items that are charged without yielding: about 1 ms of work. */
const MAX_SYNC_ITEMS = 50;

/** Charges a key for all calls of a body, and for the batch itself. */
export function chargeCalls(
  items: readonly (Call | InvalidItem)[],
  isBatch: boolean,
  limits: KeyLimits,
  context: CallContext,
): ChargeOutcome | Promise<ChargeOutcome> {
  const cost: Cost = { units: isBatch ? context.network.otherUnits.batch : 0, byMethod: undefined };
  if (items.length > MAX_SYNC_ITEMS) return chargeInSteps(items, cost, limits, context);
  for (const item of items) addCost(item, cost, limits, context);
  return charge(cost, limits, context);
}

async function chargeInSteps(
  items: readonly (Call | InvalidItem)[],
  cost: Cost,
  limits: KeyLimits,
  context: CallContext,
): Promise<ChargeOutcome> {
  const steps = new OwnedSteps(context.access.account.payer.name);
  for (const item of items) {
    const pause = steps.afterSlice();
    if (pause !== undefined) await pause;
    addCost(item, cost, limits, context);
  }
  steps.charge();
  return charge(cost, limits, context);
}

/** The parts of a call's context that a charge needs. */
export type ChargeContext = Pick<CallContext, 'access' | 'limiter' | 'network'>;

/** Charges a key for a body that is rejected as a whole. It is rejected in any case, so nothing waits for Redis. */
export function chargeRejected({ access: { limits }, limiter, network }: ChargeContext): void {
  if (limits?.isCharged === true)
    void limiter.charge(limits, { units: network.otherUnits.rejected, byMethod: noMethods });
}

/** The limit that will reject a body with at least one unit, as far as is known without Redis. */
export function exhaustedLimit({ access: { limits }, limiter }: Omit<ChargeContext, 'network'>): Shortage | undefined {
  return limits?.isCharged === true ? limiter.shortageOf(limits) : undefined;
}

interface Cost {
  units: number;
  byMethod: Map<string, number> | undefined;
}

function addCost(item: Call | InvalidItem, cost: Cost, { methodRates }: KeyLimits, context: CallContext): void {
  if ('rejection' in item) {
    cost.units += context.network.otherUnits.rejected;
    return;
  }
  const units = requestUnitsOf(item, context);
  cost.units += units;
  if (methodRates === undefined) return;
  const { served, name } = item;
  const method = served !== undefined && readsFilterLogs(served) ? nodeMethods.logs : name;
  if (!methodRates.has(method)) return;
  cost.byMethod ??= new Map();
  cost.byMethod.set(method, roundUnits((cost.byMethod.get(method) ?? 0) + units));
}

function charge(
  { units, byMethod }: Cost,
  limits: KeyLimits,
  { limiter }: CallContext,
): ChargeOutcome | Promise<ChargeOutcome> {
  return limiter.charge(limits, { units: roundUnits(units), byMethod: byMethod ?? noMethods });
}

const noMethods: ReadonlyMap<string, number> = new Map();

/** The rejection of a body by a limit of its key. An explanation gets each call with the units that it would cost. */
export function limitRejection(
  items: readonly (Call | InvalidItem)[],
  shortage: Shortage,
  context: CallContext,
): RpcError {
  const rejection = limitError(shortage, context);
  for (const printer of context.printers) {
    for (const item of items) {
      const [name, requestUnits] =
        'rejection' in item
          ? ['other', context.network.otherUnits.rejected]
          : [item.method.name, requestUnitsOf(item, context)];
      printer.limited?.(name, rejection, requestUnits);
    }
  }
  return rejection;
}

/** The rejection by a limit, in the form of the key or network. */
export function limitError(shortage: Shortage, context: Pick<CallContext, 'access' | 'network'>): RpcError {
  const { reason, limit, waitS, allowance, units, available } = shortage;
  return new RpcError(reason, messageOf(shortage) + detailOf(shortage), {
    retryAfterS: waitS,
    ...(allowance !== undefined && { allowance }),
    rule: {
      name: limit,
      ...(allowance !== undefined && { value: String(allowance.limit) }),
      units: roundUnits(units),
      available: Math.max(0, roundUnits(available)),
    },
    infura: infuraErrorOf(shortage, context),
  });
}

/** Whether errors over a limit have Infura's form. */
export function hasInfuraErrors({ access, network }: Pick<CallContext, 'access' | 'network'>): boolean {
  const { errors }: ReplaceableConfig = network.config;
  return (access.capabilities.errors ?? errors) === 'infura';
}

/** @returns undefined: the error has the form of the catalogue */
export function infuraErrorOf(
  { reason, scope }: Shortage,
  context: Pick<CallContext, 'access' | 'network'>,
): InfuraError | undefined {
  if (!hasInfuraErrors(context) || reason === 'quota-unreachable') return undefined;
  const subject = scope === 'all' || teamIn(context.access.account.name) !== undefined ? 'account' : 'key';
  return infuraErrors[subject][reason === 'rate-limit' ? 'rate' : 'quota'];
}

/** The message of a limit. Without a key, no project id has one. */
function messageOf({ reason, scope }: Shortage): string {
  const { message } = new RpcError(reason);
  if (scope === undefined || reason === 'quota-unreachable') return message;
  const whose = scope === 'address' ? 'your address' : 'all callers';
  const [what] = message.replace('project ID ', '').split(' exceeded');
  return `${what} of ${whose} without project id exceeded`;
}

/** Why a quota rejects a request although it has units left; empty if it has none, and for rates. */
function detailOf({ reason, units, available, allowance, waitS }: Shortage): string {
  const remaining = roundUnits(available);
  if (reason === 'rate-limit' || allowance === undefined || (remaining <= 0 && waitS !== undefined)) return '';
  const cost = `: the request costs ${roundUnits(units)} units, and`;
  if (waitS === undefined) return `${cost} the limit is ${allowance.limit}`;
  return `${cost} ${remaining} of ${allowance.limit} remain`;
}

/** Charges the key for the parts of a range, as if the caller had sent them: for what they cost beyond the call. */
export class ChargedParts {
  readonly #call: Call;
  readonly #context: CallContext;
  /** Units that are charged already, of the call at first. */
  #credit: number;

  constructor(call: Call, context: CallContext) {
    this.#call = call;
    this.#context = context;
    this.#credit = call.requestUnits ?? 0;
  }

  /** @param params of the call of a part @returns the limit of the key that does not allow it now */
  async charge(params: readonly unknown[]): Promise<Shortage | undefined> {
    const units = this.#unitsOf(params);
    const fromCredit = Math.min(units, this.#credit);
    this.#credit = roundUnits(this.#credit - fromCredit);
    const due = roundUnits(units - fromCredit);
    if (due === 0) return undefined;
    const shortage = await this.#take(due);
    if (shortage === undefined) this.#call.requestUnits = roundUnits((this.#call.requestUnits ?? 0) + due);
    else this.#credit += fromCredit;
    return shortage;
  }

  /** The call was refused as too large: what it cost is for later ones. */
  refund(params: readonly unknown[]): void {
    this.#credit += this.#unitsOf(params);
  }

  #unitsOf(params: readonly unknown[]): number {
    return this.#call.served?.unitsOf(params) ?? 0;
  }

  async #take(units: number): Promise<Shortage | undefined> {
    const { access, limiter } = this.#context;
    const { limits } = access;
    if (limits?.isCharged !== true) return undefined;
    const { name } = this.#call.method;
    const byMethod = new Map(limits.methodRates?.has(name) === true ? [[name, units]] : []);
    return (await limiter.charge(limits, { units, byMethod })).shortage;
  }
}
