import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Log } from '../../gateway/config/log.ts';
import { openImportedStore } from '../../gateway/backup/former-files.ts';
import { HistoryStore } from '../../gateway/history/history-store.ts';
import type { HistoryRange } from '../../gateway/metrics/history.ts';
import { DURATION_BUCKETS_S } from '../../gateway/metrics/counters.ts';
import { histogram } from '../../gateway/metrics/instruments.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import { networkOverTime, type NetworkOverTime } from '../../gateway/server/pages/network-over-time.ts';
import { silent } from '../auth/auth-setup.ts';
import { activeUpstream } from '../metrics/active-upstream.ts';
import { withoutTime } from '../support/elastic-clock.ts';
import { eventually } from '../support/eventually.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';

/** A step of each range begins then, in seconds since 1970. */
const BEGIN_S = 1_800_000_000;

/** A gateway, of which only the history runs. */
interface Counting {
  readonly metrics: Metrics;
  readonly store: HistoryStore;
  /** Counts calls of the network `five`, each with a request to its upstream `one`. */
  call(count: number, seconds?: number): void;
  /** What a page shows. */
  overTime(range?: HistoryRange): Promise<NetworkOverTime & { readonly isPartial: boolean }>;
  stop(): Promise<void>;
}

let nowS: number;
let env: { readonly DATA_DIR: string; readonly REDIS_URL: string | undefined };

beforeEach(() => {
  nowS = BEGIN_S;
  const time = vi.spyOn(Date, 'now').mockImplementation(() => nowS * 1000);
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-history-'));
  env = { DATA_DIR: folder, REDIS_URL: undefined };
  onTestFinished(() => {
    time.mockRestore();
    rmSync(folder, { recursive: true, force: true });
  });
});

async function useRedis(): Promise<RedisServer> {
  const redis = await startRedis();
  onTestFinished(redis.stop);
  env = { ...env, REDIS_URL: redis.url };
  return redis;
}

async function open(log: Log = silent): Promise<Counting> {
  const metrics = new Metrics();
  const kept = await openImportedStore(env, log, 5_000);
  const store = new HistoryStore(kept, metrics.history, log, () => true);
  let isOpen = true;
  const stop = async (): Promise<void> => {
    if (isOpen) metrics.history.stop();
    if (isOpen) await store.close();
    if (isOpen) await kept.close();
    isOpen = false;
  };
  onTestFinished(stop);
  await eventually(async () => !(await store.read('1h', 'five')).isPartial);
  metrics.history.sample([]);
  const calls = metrics.callMetric('five', 'eth_call');
  const upstream = metrics.upstreamMetrics('five', 'one');
  const durations = histogram(metrics.registry, 'gatehouse_call_duration_seconds').labels('five', 'eth_call');
  return {
    ...{ metrics, store, stop },
    call: (count, seconds = 0.02) => {
      for (let done = 0; done < count; done++) {
        calls.count('result');
        durations.observe(seconds);
        upstream.succeeded(seconds);
      }
    },
    overTime: async (range = '1h') => {
      const { points, isPartial } = await store.read(range, 'five');
      return { ...networkOverTime(range, { slug: 'five', upstreams: ['one'], points, recent: [] }, nowS), isPartial };
    },
  };
}

/** Moves the time, and ends the steps that are over then. */
function sample(afterS: number, gateways: readonly Counting[], lag?: number): void {
  nowS = BEGIN_S + afterS;
  for (const { metrics } of gateways) metrics.history.sample([activeUpstream({ lag })]);
}

/** The calls of the last steps. */
async function callsOf(gateway: Counting, steps: number, range: HistoryRange = '1h') {
  return (await gateway.overTime(range)).network['calls']?.slice(-steps);
}

/** What was read before is used for some seconds. */
async function eventuallyCalls(gateway: Counting, expected: readonly (number | null)[], range?: HistoryRange) {
  await expect.poll(() => callsOf(gateway, expected.length, range)).toEqual(expected);
}

describe.each(['files', 'Redis'])('the history in %s', (kind) => {
  beforeEach(async () => {
    if (kind === 'Redis') await useRedis();
  });

  it('survives a restart in the middle of a step', async () => {
    const first = await open();
    first.call(3);
    sample(30, [first]);
    first.call(2);
    nowS = BEGIN_S + 40;
    await first.stop();

    nowS = BEGIN_S + 45;
    const second = await open();
    second.call(4);
    sample(60, [second]);
    await eventuallyCalls(second, [null, 3, 6]);
    sample(600, [second]);
    await eventuallyCalls(second, [null, 9], '24h');
    await second.stop();

    const third = await open();
    await eventuallyCalls(third, [null, 9], '24h');
    const { upstreams } = await third.overTime('24h');
    expect([upstreams['one']?.['sent']?.at(-1), upstreams['one']?.['p50Ms']?.at(-1)]).toEqual([9, 17.5]);
  });

  it('has 0 calls in a step without traffic, and nothing of a step in which no gateway ran', async () => {
    const first = await open();
    sample(30, [first]);
    first.call(1);
    sample(60, [first]);
    await first.stop();
    nowS = BEGIN_S + 125;
    const second = await open();
    sample(155, [second]);
    // The first gateway stopped in the third step.
    await eventuallyCalls(second, [0, 1, 0, null, 0]);
  });
});

it('the history in files of version 0.1 is imported once', async () => {
  const durations = Array.from({ length: DURATION_BUCKETS_S.length + 1 }, (_, index) => (index === 3 ? 7 : 0));
  const ofNetwork = [7, 1, 0, 2, 0, 0, 0, ...durations, null];
  const ofUpstream = [9, 1, 2, 0, 3, 1, 0, ...durations, 12];
  const values = [...ofNetwork, ...ofUpstream];
  const line = JSON.stringify([BEGIN_S, ['five', 'five one'], values]);
  const path = join(env.DATA_DIR, 'history/1h.jsonl');
  mkdirSync(join(env.DATA_DIR, 'history'));
  // A restart in the middle of a step left two lines.
  writeFileSync(path, `${line}\n${line}\nincomplete [`);
  nowS = BEGIN_S + 30;
  const gateway = await open();
  await eventuallyCalls(gateway, [null, 14]);
  expect(existsSync(path)).toBe(false);
  expect(readFileSync(`${path}.imported`, 'utf8')).toContain(line);
  const { network, upstreams } = await gateway.overTime();
  expect([network['failed']?.at(-1), network['p50Ms']?.at(-1)]).toEqual([4, upstreams['one']?.['p50Ms']?.at(-1)]);
  const one = {
    sent: 18,
    unreachable: 2,
    limited: 4,
    unsupported: 0,
    invalid: 6,
    credentials: 2,
    otherChain: 0,
    lag: 12,
  };
  expect(Object.keys(one).map((name) => upstreams['one']?.[name]?.at(-1))).toEqual(Object.values(one));
  await gateway.stop();
  await eventuallyCalls(await open(), [null, 14]);
});

describe('the history in Redis', () => {
  it('is the sum of all gateways on each of them: counts, percentiles of all durations, and the longest lag', async () => {
    await useRedis();
    const [one, two] = [await open(), await open()];
    one.call(98, 0.002);
    two.call(2, 0.4);
    sample(30, [one], 3);
    sample(30, [two], 12);
    for (const gateway of [one, two]) {
      await eventuallyCalls(gateway, [null, 100]);
      const { network, upstreams, isPartial } = await gateway.overTime();
      const last = (values: readonly (number | null)[] | undefined): unknown => values?.at(-1);
      // Of 98 calls from 1 to 2.5 ms, and 2 from 250 to 500 ms.
      expect([last(network['p50Ms']), last(network['p99Ms'])]).toEqual([1.77, 375]);
      expect([last(upstreams['one']?.['sent']), last(upstreams['one']?.['lag'])]).toEqual([100, 12]);
      expect(isPartial).toBe(false);
    }
  });

  it('is bounded: a hash has the steps that its range shows, and expires', async () => {
    const redis = await useRedis();
    const gateway = await open();
    for (let step = 1; step <= 300; step++) {
      gateway.call(1);
      sample(step * 30, [gateway]);
    }
    const sizeOf = async (key: string): Promise<number> => Number(await redis.cli('HLEN', `gatehouse:steps:${key}`));
    await eventually(async () => (await sizeOf('1h:five')) === 122 && (await sizeOf('24h:five')) === 15);
    expect(await sizeOf('1h')).toBe(122);
    for (const key of ['1h', '1h:five', '24h:five', '7d:five']) {
      const expiresInS = Number(await redis.cli('TTL', `gatehouse:steps:${key}`));
      expect(expiresInS).toBeGreaterThan(3_500);
      expect(expiresInS).toBeLessThanOrEqual(169 * 3_600);
    }
  });

  it('ignores what it cannot read', async () => {
    const redis = await useRedis();
    for (const [index, text] of ['nonsense', '[1,["five"],[1,2]]', '{}', `[${BEGIN_S},["five"],"x"]`].entries())
      await redis.cli('HSET', 'gatehouse:steps:1h:five', String(index), text);
    const gateway = await open();
    gateway.call(2);
    sample(30, [gateway]);
    await eventuallyCalls(gateway, [null, 2]);
  });

  it('is that of one gateway while Redis is unavailable, with one warning; the missing steps are written later', async () => {
    const redis = await useRedis();
    const warnings: string[] = [];
    const warn = (_: unknown, text: string): number => warnings.push(text);
    const log = { warn, info: () => undefined } as unknown as Log;
    const one = await open(log);
    const two = await open();
    // Until the connection was open.
    warnings.length = 0;
    one.call(1);
    two.call(10);
    sample(30, [one, two]);
    await eventuallyCalls(one, [11]);

    await redis.kill();
    one.call(2);
    two.call(20);
    sample(60, [one, two]);
    await expect.poll(async () => (await one.overTime()).isPartial).toBe(true);
    expect(await callsOf(one, 2)).toEqual([1, 2]);
    await withoutTime(async () => {
      for (let read = 0; read < 20; read++) await one.overTime('24h');
    });
    expect(warnings.filter((text) => text !== 'Redis is unavailable')).toEqual([
      'the history of all gateways is unavailable: pages show that of this one',
    ]);

    await redis.restart();
    for (const gateway of [one, two]) await expect.poll(async () => (await gateway.overTime()).isPartial).toBe(false);
    one.call(3);
    two.call(30);
    sample(90, [one, two]);
    // This Redis has lost what it had.
    await eventuallyCalls(one, [null, 22, 33]);
    await eventuallyCalls(two, [null, 22, 33]);
  });

  it('is read in part if Redis hangs', async () => {
    const redis = await useRedis();
    const gateway = await open();
    gateway.call(1);
    sample(30, [gateway]);
    await eventuallyCalls(gateway, [1]);
    redis.pause();
    onTestFinished(redis.resume);
    const { isPartial, network } = await gateway.overTime('24h');
    expect([isPartial, network['calls']?.at(-1)]).toEqual([true, null]);
  });
});
