import { timeSlicer } from '../../jsonrpc/time-slices.ts';
import { mergeDifferences, type Difference, type Differences } from '../../observability/differences.ts';
import { mergeEvents, type EventFilter, type EventList, type GatewayEvent } from '../../observability/event-list.ts';
import {
  latestCalls,
  type RecentCall,
  type RecentCallFilter,
  type RecentCalls,
} from '../../observability/recent-calls.ts';
import type { WorkerLink } from '../../workers/worker-link.ts';

/** @returns the rows of this process, then those of each other worker; each list has the latest ones first */
type FindAll<Filter, Row> = (filter: Filter, limit: number) => Promise<(readonly Row[])[]>;

/** Readers of the latest calls and events of a gateway: of this process, or of all workers together. */
export interface MachineLists {
  /** The value of RECENT_CALLS_PARAMS. */
  readonly paramsMode: string;
  readonly calls: ReturnType<typeof callsReader>;
  readonly events: ReturnType<typeof eventsReader>;
}

/** Makes the reader of the latest calls. @param link undefined: this process is the whole gateway */
export function callsReader(calls: RecentCalls, link: WorkerLink | undefined) {
  const findAll = finderOf<RecentCallFilter, RecentCall>('recent-calls', calls.find.bind(calls), link);
  return async (filter: RecentCallFilter, limit: number): Promise<RecentCall[]> =>
    latestCalls((await findAll(filter, limit)).flat(), limit);
}

/** Makes the reader of the latest events. What several workers found is one event. */
export function eventsReader(events: EventList, link: WorkerLink | undefined) {
  const findAll = finderOf<EventFilter, GatewayEvent>('events', events.find.bind(events), link);
  return async (filter: EventFilter, limit: number): Promise<readonly GatewayEvent[]> => {
    const [own = [], ...others] = await findAll(filter, limit);
    return others.length === 0 ? own : mergeEvents([own, ...others]).slice(0, limit);
  };
}

/**
 * @param of the differences that this process found on a network; undefined: there is no such network
 * @param link undefined: this process is the whole gateway
 * @returns reads the latest differences that this process, or all workers together, found on a network
 */
export function differencesReader(
  of: (slug: string) => Differences | undefined,
  link: WorkerLink | undefined,
): (slug: string) => Promise<readonly Difference[]> {
  const findAll = finderOf<string, Difference>('differences', (slug) => of(slug)?.latest() ?? [], link);
  return async (slug) => {
    const [own = [], ...others] = await findAll(slug, Infinity);
    return others.length === 0 ? own : mergeDifferences([own, ...others]);
  };
}

/** Other workers send JSON texts: rows have explanations, which are no structured clones. */
function finderOf<Filter, Row>(
  topic: string,
  find: (filter: Filter, limit: number) => readonly Row[],
  link: WorkerLink | undefined,
): FindAll<Filter, Row> {
  link?.on(topic, ({ filter, limit }: { filter: Filter; limit: number }) => JSON.stringify(find(filter, limit)));
  return async (filter, limit) => {
    const lists = [find(filter, limit)];
    for (const text of ((await link?.requestOthers(topic, { filter, limit })) ?? []) as string[]) {
      const pause = timeSlicer.next();
      if (pause !== undefined) await pause;
      lists.push(JSON.parse(text) as Row[]);
    }
    return lists;
  };
}
