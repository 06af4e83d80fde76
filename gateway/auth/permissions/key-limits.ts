/** A bucket: in any time t at most burst + perSecond × t request units pass. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** @param burst default: the units of one second */
export function rateOf(perSecond: number, burst = Math.max(1, Math.ceil(perSecond))): Rate {
  return { perSecond, burst };
}

/** Limits in request units, which `limits/` charges for each body: in memory (`limit-state.ts`) and in Redis (`charge-script.ts`). */
export interface ChargedLimits {
  readonly rate: Rate | undefined;
  readonly methodRates: ReadonlyMap<string, Rate> | undefined;
  readonly daily: number | undefined;
  readonly monthly: number | undefined;
}

/** Limits on what is open or in flight at once: calls are not charged to them. */
export interface OpenLimits {
  readonly sockets: number | undefined;
  readonly subscriptions: number | undefined;
  readonly concurrency: number | undefined;
}

/** Limits of a key. */
export interface KeyLimits extends ChargedLimits, OpenLimits {
  /** Id of the account that is charged: the key's own id, the id of the key that it replaced by rotation, or its team. */
  readonly account: string;
  /** Whether any of the charged limits is set. */
  readonly isCharged: boolean;
}

/** The limits of an account without limits. */
export function noLimits(account: string): KeyLimits {
  const charged: ChargedLimits = { rate: undefined, methodRates: undefined, daily: undefined, monthly: undefined };
  const open: OpenLimits = { sockets: undefined, subscriptions: undefined, concurrency: undefined };
  return { account, isCharged: false, ...charged, ...open };
}

/** Whether a charge has the same result with both. Keys of a team may have different limits. */
export function areChargedAlike(one: ChargedLimits, other: ChargedLimits): boolean {
  if (one === other) return true;
  return (
    one.daily === other.daily &&
    one.monthly === other.monthly &&
    isSameRate(one.rate, other.rate) &&
    isSameRates(one.methodRates, other.methodRates)
  );
}

function isSameRate(one: Rate | undefined, other: Rate | undefined): boolean {
  return one?.perSecond === other?.perSecond && one?.burst === other?.burst;
}

function isSameRates(one: ChargedLimits['methodRates'], other: ChargedLimits['methodRates']): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.size === other.size && [...one].every(([method, rate]) => isSameRate(rate, other.get(method)));
}
