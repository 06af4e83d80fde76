import { clock } from '../clock/clock.ts';
import { isObject, jsonObjectIn } from '../collections/is-object.ts';
import type { PutOptions, Store } from '../store/store.ts';

/** An operator has taken an upstream out of service. */
export interface Drain {
  /** Slug of the network. */
  readonly network: string;
  readonly upstream: string;
  /** ISO 8601. */
  readonly at: string;
  /** Operator, as in the audit log. */
  readonly by: string;
  /** ISO 8601; absent: until an operator ends it. */
  readonly until?: string;
}

/** @param forMs undefined: until an operator ends it */
export function newDrain(network: string, upstream: string, by: string, forMs: number | undefined): Drain {
  const now = clock.unixMs();
  const until = forMs === undefined ? {} : { until: new Date(now + forMs).toISOString() };
  return { network, upstream, at: new Date(now).toISOString(), by, ...until };
}

/** Folder of the drains: the name of a record is `<network> <upstream>`, its text the drain as JSON. */
const FOLDER = 'gatehouse:drains';

/** The drains that have not ended. @throws StoreError (rejects with it) */
export async function readDrains(store: Store): Promise<Drain[]> {
  const drains = [...(await store.scan(FOLDER)).values()].map((text): unknown => jsonObjectIn(text)).filter(isDrain);
  return drains.filter(({ until }) => until === undefined || Date.parse(until) > clock.unixMs());
}

/** Adds or replaces the drain of an upstream. @throws StoreError (rejects with it) */
export async function storeDrain(store: Store, drain: Drain, options?: PutOptions): Promise<void> {
  await store.put(FOLDER, `${drain.network} ${drain.upstream}`, JSON.stringify(drain), options);
}

/** A warning if the drain leaves its network without an upstream in service. @param inService upstreams of the network that are not drained */
export function drainWarnings({ network, upstream }: Drain, inService: readonly string[]): string[] {
  if (inService.length === 0 || inService.some((name) => name !== upstream)) return [];
  return [`no upstream of ${network} is in service: calls that need one are 503`];
}

/** @returns whether the upstream was drained @throws StoreError (rejects with it) */
export function removeDrain(store: Store, network: string, upstream: string): Promise<boolean> {
  return store.delete(FOLDER, `${network} ${upstream}`);
}

export function isDrain(value: unknown): value is Drain {
  if (!isObject(value)) return false;
  const { network, upstream, at, by, until } = value;
  const areTexts = [network, upstream, at, by].every((each) => typeof each === 'string');
  return areTexts && (until === undefined || (typeof until === 'string' && !Number.isNaN(Date.parse(until))));
}
