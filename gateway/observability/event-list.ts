import { clock, type Timer } from '../clock/clock.ts';
import { LineLimit } from '../config/line-limit.ts';
import type { Log } from '../config/log.ts';

export const MAX_EVENTS = 1_000;
/** A condition that returns within this time continues its event, whose count rises. */
const RESUME_MS = 300_000;
const TICK_MS = 1_000;
/** Time within which the same trouble at several workers is one event. */
export const SAME_MS = 5_000;

/** Subject of an event. */
export interface EventSubject {
  readonly kind: 'upstream' | 'network' | 'key-store' | 'memory' | 'network-files' | 'audit' | 'admin' | 'gateway';
  readonly network?: string;
  readonly upstream?: string;
}

/** State that is wrong now. */
export interface Condition extends EventSubject {
  readonly reason: string;
  /** The part of the gateway that finds it writes the log lines. */
  readonly isLogged?: boolean;
}

/** A condition with its duration, or something that was done at a time. */
export interface GatewayEvent extends EventSubject {
  readonly id: number;
  readonly at: string;
  reason: string;
  /** End of the condition; null: it lasts. Undefined: it has no duration. */
  endedAt?: string | null;
  /** Seconds in all that the condition lasted. */
  forS: number;
  /** Number of times that it began, or was done. */
  count: number;
  /** Operator who did it. */
  readonly by?: string;
}

/** Filter whose given members must be equal. */
export interface EventFilter {
  readonly kind?: string;
  readonly network?: string;
  readonly upstream?: string;
}

interface Tracked {
  readonly event: GatewayEvent;
  /** Time when the event began, by clock.now(). */
  beganAt: number;
  endedAt: number | undefined;
  /** Seconds that it lasted before its latest begin. */
  earlierS: number;
  /** The line of its begin was written. */
  isLogged: boolean;
}

/** The latest events of this gateway: failures with their duration, and operations of administrators. */
export class EventList {
  readonly #log: Log;
  readonly #lines = new LineLimit();
  /** Events, oldest first. */
  readonly #events: GatewayEvent[] = [];
  /** The last event of each subject with conditions. */
  readonly #tracked = new Map<string, Tracked>();
  #nextId = 1;
  #timer: Timer | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Compares the conditions with those before, once a second, until `close`. */
  watch(conditions: () => readonly Condition[]): void {
    this.#timer = clock
      .setInterval(() => {
        this.update(conditions());
      }, TICK_MS)
      .unref();
  }

  close(): void {
    clock.clearInterval(this.#timer);
  }

  /** Begins events for new conditions, and ends those of the others. */
  update(conditions: readonly Condition[]): void {
    const now = clock.now();
    for (const [name, { endedAt }] of this.#tracked)
      if (endedAt !== undefined && now - endedAt > RESUME_MS) this.#tracked.delete(name);
    const names = new Set<string>();
    for (const condition of conditions) {
      const name = nameOf(condition);
      if (names.has(name)) continue;
      names.add(name);
      const tracked = this.#tracked.get(name);
      if (tracked?.endedAt === undefined && tracked !== undefined) {
        tracked.event.reason = condition.reason;
        tracked.event.forS = durationOf(tracked, now);
      } else this.#begin(name, condition, now);
    }
    for (const [name, tracked] of this.#tracked)
      if (tracked.endedAt === undefined && !names.has(name)) this.#end(tracked, now);
  }

  /** Adds what was done, or happened. */
  add(event: EventSubject & { readonly reason: string; readonly by?: string }): void {
    this.#push({ ...event, id: this.#nextId++, at: timeOf(clock.unixMs()), forS: 0, count: 1 });
  }

  /** The latest ones first. */
  find(filter: EventFilter, limit: number): GatewayEvent[] {
    const isWanted = (event: GatewayEvent): boolean =>
      Object.entries(filter).every(
        ([name, value]) => value === undefined || event[name as keyof EventSubject] === value,
      );
    return this.#events.filter(isWanted).reverse().slice(0, limit);
  }

  #begin(name: string, { isLogged: isLoggedElsewhere = false, reason, ...subject }: Condition, now: number): void {
    const before = this.#tracked.get(name);
    const tracked = before ?? this.#track(name, { ...subject, reason }, now);
    const { event } = tracked;
    if (before?.endedAt !== undefined) {
      tracked.earlierS += (before.endedAt - before.beganAt) / 1_000;
      Object.assign(tracked, { beganAt: now, endedAt: undefined });
      Object.assign(event, { reason, endedAt: null, count: event.count + 1 });
    }
    const lines = isLoggedElsewhere ? undefined : this.#lines.take(name);
    tracked.isLogged = lines !== undefined;
    if (tracked.isLogged) this.#log.warn(factsOf(event), 'trouble began');
  }

  #track(name: string, subject: EventSubject & { readonly reason: string }, now: number): Tracked {
    const at = timeOf(clock.unixMs());
    const event: GatewayEvent = { ...subject, id: this.#nextId++, at, endedAt: null, forS: 0, count: 1 };
    this.#push(event);
    const tracked = { event, beganAt: now, endedAt: undefined, earlierS: 0, isLogged: false };
    this.#tracked.set(name, tracked);
    return tracked;
  }

  #end(tracked: Tracked, now: number): void {
    const { event } = tracked;
    event.endedAt = timeOf(clock.unixMs());
    event.forS = durationOf(tracked, now);
    tracked.endedAt = now;
    if (tracked.isLogged) this.#log.info({ ...factsOf(event), forS: event.forS }, 'trouble ended');
  }

  #push(event: GatewayEvent): void {
    this.#events.push(event);
    if (this.#events.length > MAX_EVENTS) this.#events.shift();
  }
}

/**
 * The events of several workers, the latest ones first. What several workers find, or are notified of, at the same time is one
 * event: it begins when the first worker finds it, and lasts until none finds it.
 */
export function mergeEvents(lists: readonly (readonly GatewayEvent[])[]): GatewayEvent[] {
  const all = lists.flatMap((events, worker) => events.toReversed().map((event) => ({ event, worker })));
  all.sort(({ event: one }, { event: other }) => Date.parse(one.at) - Date.parse(other.at));
  const groups = new Map<string, { readonly workers: Set<number>; readonly event: GatewayEvent; endsAt: number }>();
  const merged: GatewayEvent[] = [];
  for (const { event, worker } of all) {
    const name = mergedNameOf(event);
    const at = Date.parse(event.at);
    const endsAt = event.endedAt === null ? Infinity : Date.parse(event.endedAt ?? event.at) + SAME_MS;
    const group = groups.get(name);
    if (group === undefined || group.workers.has(worker) || at > group.endsAt) {
      const first = { ...event };
      groups.set(name, { workers: new Set([worker]), event: first, endsAt });
      merged.push(first);
      continue;
    }
    const { event: first, workers } = group;
    workers.add(worker);
    first.forS = Math.max(first.forS, event.forS);
    first.count = Math.max(first.count, event.count);
    if (event.endedAt !== undefined && endsAt > group.endsAt) first.endedAt = event.endedAt;
    group.endsAt = Math.max(group.endsAt, endsAt);
  }
  return merged.reverse();
}

function factsOf({ kind, network, upstream, reason, count }: GatewayEvent): object {
  return {
    event: kind,
    ...(network !== undefined && { network }),
    ...(upstream !== undefined && { upstream }),
    reason,
    ...(count > 1 && { count }),
  };
}

function durationOf({ beganAt, earlierS }: Tracked, now: number): number {
  return Math.round(earlierS + (now - beganAt) / 1_000);
}

/** Name that the events of several workers have in common, if they found the same. */
export function mergedNameOf(event: GatewayEvent): string {
  return event.endedAt === undefined ? JSON.stringify([nameOf(event), event.reason, event.by]) : nameOf(event);
}

function nameOf({ kind, network, upstream }: EventSubject): string {
  return JSON.stringify([kind, network, upstream]);
}

function timeOf(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
