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

/** The latest calls and events of a gateway: of this process, or of all workers together. */
export class MachineLists {
  /** The value of RECENT_CALLS_PARAMS. */
  readonly paramsMode: string;
  readonly #findCalls: FindAll<RecentCallFilter, RecentCall>;
  readonly #findEvents: FindAll<EventFilter, GatewayEvent>;

  /** @param link undefined: this process is the whole gateway */
  constructor(recentCalls: RecentCalls, paramsMode: string, events: EventList, link: WorkerLink | undefined) {
    this.paramsMode = paramsMode;
    this.#findCalls = finderOf('recent-calls', recentCalls.find.bind(recentCalls), link);
    this.#findEvents = finderOf('events', events.find.bind(events), link);
  }

  /** The latest ones first. */
  async calls(filter: RecentCallFilter, limit: number): Promise<RecentCall[]> {
    return latestCalls((await this.#findCalls(filter, limit)).flat(), limit);
  }

  /** The latest ones first. What several workers found is one event. */
  async events(filter: EventFilter, limit: number): Promise<GatewayEvent[]> {
    const [own = [], ...others] = await this.#findEvents(filter, limit);
    return others.length === 0 ? [...own] : mergeEvents([own, ...others]).slice(0, limit);
  }
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
