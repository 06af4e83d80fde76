import { clock } from '../clock/clock.ts';
import { random } from '../clock/random.ts';
import { errorCode, type Log } from '../config/log.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import {
  addPoints,
  FIELDS,
  historyRanges,
  type HistoryPoint,
  type HistoryRange,
  type LongHistory,
} from '../metrics/long-history.ts';
import { unreachable, type RedisLink } from '../redis/link.ts';
import { parsePoint, pointText, type HistoryStore, type ReadHistory } from './history-store.ts';

/**
 * Sorted sets by the begin of a step, in seconds: `gatehouse:history:<range>:<network>` has a point of each gateway,
 * `gatehouse:history:<range>` each step that a gateway has counted, also without traffic. Both lose what the range does not
 * show.
 */
const HISTORY_PREFIX = 'gatehouse:history:';
/** What pages read is at most so old. */
const READ_MAX_AGE_MS = 1_000;

interface WaitingPoint {
  readonly range: HistoryRange;
  readonly point: HistoryPoint;
}

/** Stores the history in Redis, where that of all gateways is added up. Without Redis, pages have that of this process. */
export class RedisHistoryStore implements HistoryStore {
  readonly #link: RedisLink;
  readonly #history: LongHistory;
  readonly #log: Log;
  /** Makes equal points of two gateways different members of a set. */
  readonly #writer = random.bytes(4).toString('hex');
  /** Points that are not in Redis yet, oldest first. */
  #waiting: WaitingPoint[] = [];
  #writing: Promise<void> | undefined;
  readonly #reads = new Map<string, { readonly at: number; readonly result: Promise<ReadHistory> }>();
  /** What has failed since it last succeeded. */
  readonly #failing = new Set<'read' | 'write'>();

  /**
   * @param link closed by `close`
   * @param isWriter whether this process writes: one of several workers does, for all of them
   */
  constructor(link: RedisLink, history: LongHistory, log: Log, isWriter: () => boolean) {
    this.#link = link;
    this.#history = history;
    this.#log = log;
    history.onPoint = (range, point) => {
      if (!isWriter()) return;
      this.#waiting.push({ range, point });
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined;
      });
    };
  }

  /** At once if Redis is known to be unavailable, else within the command timeout. */
  read(range: HistoryRange, network: string): Promise<ReadHistory> {
    const now = clock.now();
    for (const [name, { at }] of this.#reads) if (now - at > READ_MAX_AGE_MS) this.#reads.delete(name);
    const name = `${range}:${network}`;
    const known = this.#reads.get(name);
    if (known !== undefined) return known.result;
    const result = this.#read(range, network).catch((error: unknown) => {
      this.#failed('read', error);
      this.#reads.delete(name);
      return { points: this.#history.pointsOf(range), isPartial: true };
    });
    this.#reads.set(name, { at: now, result });
    return result;
  }

  async close(): Promise<void> {
    this.#history.onPoint = () => undefined;
    await this.#writing;
    await this.#link.close();
  }

  async #read(range: HistoryRange, network: string): Promise<ReadHistory> {
    const fromS = beginOf(range);
    const [steps, texts] = await this.#run((redis) =>
      Promise.all([
        redis.zrangebyscore(HISTORY_PREFIX + range, fromS, '+inf'),
        redis.zrangebyscore(`${HISTORY_PREFIX}${range}:${network}`, fromS, '+inf'),
      ]),
    );
    const points = new Map<number, HistoryPoint>();
    for (const step of steps) points.set(Number(step), { at: Number(step), names: [], values: new Float32Array() });
    for (const text of texts) {
      const pause = timeSlicer.next();
      if (pause !== undefined) await pause;
      const point = parsePoint(text);
      if (point === undefined) continue;
      const sum = points.get(point.at);
      points.set(point.at, sum === undefined ? point : addPoints(sum, point));
    }
    this.#failing.delete('read');
    return { points: [...points.values()], isPartial: false };
  }

  /** Stops at a failure: the points are written after the next step. */
  async #write(): Promise<void> {
    try {
      for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
        await this.#writePoint(first);
        this.#waiting.shift();
      }
      this.#failing.delete('write');
    } catch (error) {
      this.#failed('write', error);
      this.#waiting = this.#waiting.filter(({ range, point }) => point.at >= beginOf(range));
    }
  }

  /** May be repeated: the members of the sets are equal. */
  async #writePoint({ range, point }: WaitingPoint): Promise<void> {
    const { at } = point;
    const members = [...byNetwork(point)].map(
      ([network, own]) => [`${HISTORY_PREFIX}${range}:${network}`, pointText(own, this.#writer)] as const,
    );
    const { stepS, steps } = historyRanges[range];
    await this.#run((redis) =>
      Promise.all(
        [[HISTORY_PREFIX + range, String(at)] as const, ...members].flatMap(([key, member]) => [
          redis.zadd(key, at, member),
          redis.zremrangebyscore(key, '-inf', `(${beginOf(range)}`),
          redis.expire(key, stepS * (steps + 1)),
        ]),
      ),
    );
  }

  async #run<Result>(commands: (redis: RedisLink['redis']) => Promise<Result>): Promise<Result> {
    if (!this.#link.isUp) throw unreachable(this.#link.lastError);
    try {
      return await commands(this.#link.redis);
    } catch (error) {
      throw unreachable(this.#link.reportFailure(error));
    }
  }

  #failed(operation: 'read' | 'write', error: unknown): void {
    const isFirst = this.#failing.size === 0;
    this.#failing.add(operation);
    if (isFirst)
      this.#log.warn(
        { error: errorCode(error) },
        'the history of all gateways is unavailable: pages show that of this one',
      );
  }
}

/** The oldest step that a page may show, and one before, because the clocks of gateways differ. */
function beginOf(range: HistoryRange): number {
  const { stepS, steps } = historyRanges[range];
  return clock.unixMs() / 1000 - stepS * (steps + 1);
}

/** A point for each network with traffic, with those of its upstreams. */
function byNetwork({ at, names, values }: HistoryPoint): Map<string, HistoryPoint> {
  const found = new Map<string, { names: string[]; rows: number[] }>();
  for (const [index, name] of names.entries()) {
    const [network = ''] = name.split(' ', 1);
    const own = found.get(network) ?? { names: [], rows: [] };
    found.set(network, own);
    own.names.push(name);
    own.rows.push(...values.subarray(index * FIELDS, (index + 1) * FIELDS));
  }
  return new Map(
    [...found].map(([network, own]) => [network, { at, names: own.names, values: Float32Array.from(own.rows) }]),
  );
}
