/** A bucket: in any time t at most burst + perSecond × t request units pass. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** @param burst default: the units of one second */
export function rateOf(perSecond: number, burst = Math.max(1, Math.ceil(perSecond))): Rate {
  return { perSecond, burst };
}

/** Limits in request units, which `limits/` charges for each body: the law is in `limit-state.ts`. */
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

/** Limits of a key, or of a client address without one. */
export interface KeyLimits extends ChargedLimits, OpenLimits {
  /** Id of the account that is charged: the key's own id, the id of the key that it replaced by rotation, or its team. */
  readonly account: string;
  /** Whether any of the charged limits is set. */
  readonly isCharged: boolean;
  /** What a caller without a key is charged to, in place of the account; undefined for a key. */
  readonly public?: PublicLimits;
}

/** What bodies of a caller without a key are charged to. */
export interface PublicLimits {
  /** Share of the address; undefined: an address has no limits. */
  readonly share: PublicShare | undefined;
  /** The limits of all callers without a key together; undefined: they have none. */
  readonly all: KeyLimits | undefined;
}

/** The share of a client address, or of the sender of a transaction. */
export interface PublicShare {
  readonly account: string;
  /** The account of its /48, if it is an IPv6 network. */
  readonly wideAccount?: string;
  readonly isIpv4: boolean;
  readonly limits: ShareLimits;
}

/** The limits of a kind of share. One object for all shares of it. */
export interface ShareLimits {
  readonly own: KeyLimits;
  /** Limits of a /48. */
  readonly wide?: KeyLimits;
  /** Limits of all shares together for which there is no place. */
  readonly others: KeyLimits;
}

/** The limits of an account without limits. */
export function noLimits(account: string): KeyLimits {
  const charged: ChargedLimits = { rate: undefined, methodRates: undefined, daily: undefined, monthly: undefined };
  const open: OpenLimits = { sockets: undefined, subscriptions: undefined, concurrency: undefined };
  return { account, isCharged: false, ...charged, ...open };
}

/** The lower of each limit. A limit that one of both lacks is the other's. */
export function lowerLimits(
  one: Partial<KeyLimits> | undefined,
  other: Partial<KeyLimits> | undefined,
): Partial<KeyLimits> | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const counts = ['daily', 'monthly', 'sockets', 'subscriptions', 'concurrency'] as const;
  const countsOf = (limits: Partial<KeyLimits>): object =>
    Object.fromEntries(counts.map((name) => [name, limits[name]]));
  return {
    ...lowerNumbers(countsOf(one), countsOf(other)),
    rate: lowerNumbers(one.rate, other.rate),
    methodRates: lowerRates(one.methodRates, other.methodRates),
    isCharged: one.isCharged === true || other.isCharged === true,
  };
}

/** The lower of each number. */
export function lowerNumbers<Numbers extends object>(
  one: Numbers | undefined,
  other: Numbers | undefined,
): Numbers | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const lowered = { ...one } as Record<string, number | undefined>;
  for (const [name, limit] of Object.entries(other) as [string, number | undefined][])
    if (limit !== undefined) lowered[name] = Math.min(lowered[name] ?? Infinity, limit);
  return lowered as Numbers;
}

function lowerRates(
  one: ChargedLimits['methodRates'],
  other: ChargedLimits['methodRates'],
): ChargedLimits['methodRates'] {
  if (one === undefined || other === undefined) return one ?? other;
  const rates = new Map(one);
  for (const [method, rate] of other) rates.set(method, lowerNumbers(rates.get(method), rate) ?? rate);
  return rates;
}
