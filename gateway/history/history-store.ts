import { LRUCache } from 'lru-cache';
import { clock } from '../clock/clock.ts';
import { random } from '../clock/random.ts';
import { errorCode, type Log } from '../config/log.ts';
import { expiringEntries } from '../config/max-entries.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import {
  addPoints,
  historyRanges,
  pointOf,
  rowsOf,
  valuesFrom,
  type History,
  type HistoryPoint,
  type HistoryRange,
} from '../metrics/history.ts';
import { StoreError } from '../store/store-error.ts';
import type { Store } from '../store/store.ts';

/** The history of a network, with that of its upstreams. */
export interface ReadHistory {
  /** Points in no order; a step of which nothing is known is left out. */
  readonly points: readonly HistoryPoint[];
  /** Whether the history in the store is not included, because the store is unavailable. */
  readonly isPartial: boolean;
}

/** A point in the store, the sum of some gateways. */
export interface StoredPoint extends HistoryPoint {
  /** Ids of the points that are in it: none is added twice. */
  readonly writers: readonly string[];
}

interface WaitingPoint {
  readonly range: HistoryRange;
  readonly point: HistoryPoint;
  /** Name of the writer, which no other one has. */
  readonly writer: string;
}

/** Maximum age of what pages read. */
const READ_MAX_AGE_MS = 1_000;
const MAX_READS = 1_000;

/**
 * Stores what networks and upstreams did in each range, summed over all gateways. The folder
 * `gatehouse:steps:<range>:<network>` has a record of each step, `gatehouse:steps:<range>` each step that a gateway has counted,
 * also without traffic.
 * The name of a record is the number of its step, modulo the steps that a folder has, so that a new step replaces the oldest.
 * While the store is unavailable, pages have the history of this process. A failure is logged and is never that of a caller.
 */
export class HistoryStore {
  readonly #store: Store;
  readonly #history: History;
  readonly #log: Log;
  readonly #writer = random.bytes(4).toString('hex');
  #pointCount = 0;
  /** Points that are not stored yet, oldest first. */
  #waiting: WaitingPoint[] = [];
  #writing: Promise<void> | undefined;
  readonly #reads = new LRUCache<string, Promise<ReadHistory>>(expiringEntries(MAX_READS, READ_MAX_AGE_MS));
  /** Operations that have failed since they last succeeded. */
  readonly #failing = new Set<'read' | 'write'>();

  /** @param isWriter whether this process writes: one of several workers does, for all of them */
  constructor(store: Store, history: History, log: Log, isWriter: () => boolean) {
    this.#store = store;
    this.#history = history;
    this.#log = log;
    history.onPoint = (range, point) => {
      if (!isWriter()) return;
      this.#waiting.push({ range, point, writer: `${this.#writer}${this.#pointCount++}` });
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined;
      });
    };
  }

  /** @param network its slug */
  read(range: HistoryRange, network: string): Promise<ReadHistory> {
    const name = `${range}:${network}`;
    // Each may have 100 kB and more.
    this.#reads.purgeStale();
    const known = this.#reads.get(name);
    if (known !== undefined) return known;
    const result = this.#read(range, network).catch((error: unknown) => {
      this.#failed('read', error);
      this.#reads.delete(name);
      return { points: this.#history.pointsOf(range), isPartial: true };
    });
    this.#reads.set(name, result);
    return result;
  }

  /** Resolves when everything is written, or cannot be. */
  async close(): Promise<void> {
    this.#history.onPoint = () => undefined;
    await this.#writing;
  }

  async #read(range: HistoryRange, network: string): Promise<ReadHistory> {
    const [steps, own] = await Promise.all([
      this.#store.scan(folderOf(range)),
      this.#store.scan(folderOf(range, network)),
    ]);
    const points = new Map<number, StoredPoint>();
    for (const text of [...steps.values(), ...own.values()]) {
      await timeSlicer.next();
      const point = parsePoint(text);
      if (point !== undefined && point.at >= beginOf(range)) points.set(point.at, point);
    }
    for (const { range: waitingRange, point, writer } of this.#waiting) {
      if (waitingRange !== range) continue;
      const stored = points.get(point.at);
      const added = { ...point, writers: [writer] };
      if (stored?.writers.includes(writer) !== true) points.set(point.at, stored ? sumOf(stored, added) : added);
    }
    this.#failing.delete('read');
    return { points: [...points.values()], isPartial: false };
  }

  /** Stops at a failure: the points are written after the next step. */
  async #write(): Promise<void> {
    try {
      for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
        await storePoint(this.#store, first.range, { ...first.point, writers: [first.writer] });
        this.#waiting.shift();
      }
      this.#failing.delete('write');
    } catch (error) {
      this.#failed('write', error);
      this.#waiting = this.#waiting.filter(({ range, point }) => point.at >= beginOf(range));
    }
  }

  #failed(operation: 'read' | 'write', error: unknown): void {
    const isFirst = this.#failing.size === 0;
    this.#failing.add(operation);
    if (isFirst) {
      const reason = error instanceof StoreError ? error.message : errorCode(error);
      this.#log.warn({ error: reason }, 'the history of all gateways is unavailable: pages show that of this one');
    }
  }
}

/** Adds a point of some writers. One that is in the store already is not added again. @throws StoreError (rejects with it) */
export async function storePoint(store: Store, range: HistoryRange, point: StoredPoint): Promise<void> {
  const networks = [...byNetwork(point)];
  await Promise.all(networks.map(([network, own]) => addToStep(store, range, folderOf(range, network), own)));
  // Last, because its writers say that the step is complete.
  await addToStep(store, range, folderOf(range), { ...point, names: [], values: new Float32Array() });
}

async function addToStep(store: Store, range: HistoryRange, folder: string, point: StoredPoint): Promise<void> {
  const { stepS, steps } = historyRanges[range];
  const name = String((point.at / stepS) % (steps + 2));
  const ttlMs = stepS * (steps + 1) * 1_000;
  for (;;) {
    const text = await store.get(folder, name);
    const stored = text === undefined ? undefined : parsePoint(text);
    if (stored !== undefined && stored.at > point.at) return;
    const isSameStep = stored?.at === point.at;
    if (isSameStep && point.writers.some((writer) => stored.writers.includes(writer))) return;
    const sum = isSameStep ? sumOf(stored, point) : point;
    // Another gateway may have added its own meanwhile.
    if (await store.put(folder, name, pointText(sum), { expected: text ?? null, ttlMs })) return;
  }
}

function sumOf(one: StoredPoint, other: StoredPoint): StoredPoint {
  return { ...addPoints(one, other), writers: [...one.writers, ...other.writers] };
}

function folderOf(range: HistoryRange, network?: string): string {
  return network === undefined ? `gatehouse:steps:${range}` : `gatehouse:steps:${range}:${network}`;
}

/** Point as JSON. An unknown lag is null. */
function pointText({ at, names, values, writers }: StoredPoint): string {
  return JSON.stringify([at, names, [...values], writers]);
}

/** @returns undefined for a text of another form */
export function parsePoint(text: string): StoredPoint | undefined {
  try {
    const [at, names, values, writers = []] = JSON.parse(text) as [unknown, unknown, unknown, unknown];
    if (typeof at !== 'number' || !isTexts(names) || !isTexts(writers) || !Array.isArray(values)) return undefined;
    const numbers = values.map((value) => (typeof value === 'number' ? value : NaN));
    const read = valuesFrom(numbers, names.length);
    return read && { at, names, values: read, writers };
  } catch {
    return undefined;
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

/** The oldest step that a page may show, and one before, because the clocks of gateways differ. */
function beginOf(range: HistoryRange): number {
  const { stepS, steps } = historyRanges[range];
  return clock.unixMs() / 1000 - stepS * (steps + 1);
}

/** A point for each network with traffic, with those of its upstreams. */
function byNetwork({ writers, ...point }: StoredPoint): Map<string, StoredPoint> {
  const rows = [...rowsOf(point)];
  const networks = new Set(point.names.map((name) => name.split(' ', 1)[0] ?? ''));
  const ofNetwork = (network: string): StoredPoint => {
    const own = rows.filter(([name]) => name.split(' ', 1)[0] === network);
    return { ...pointOf(point.at, new Map(own)), writers };
  };
  return new Map([...networks].map((network) => [network, ofNetwork(network)]));
}
