import { describe, expect, it } from 'vitest';
import { Account } from '../../gateway/admission/account.ts';
import { clock } from '../../gateway/clock/clock.ts';
import { inLongRun } from '../support/long-run.ts';
import { simulateTime } from '../support/simulate-time.ts';
import { ethCall, parallel, refusing, slowing, times, UpstreamLoad, type UpstreamModel } from './upstream-load.ts';

const time = simulateTime();

const [one, other, third] = [new Account('one'), new Account('other'), new Account('third')];

async function advance(seconds: number): Promise<void> {
  await time().advance(seconds * 1_000);
}

interface Run {
  readonly limit: number | undefined;
  readonly perSecond: number;
  readonly refusedPerSecond: number;
}

/** Run of 4 s, after 5 s of 300 clients of one key. */
async function run(upstream: UpstreamModel, ms: () => number, isFound: boolean): Promise<Run> {
  const load = new UpstreamLoad(upstream, isFound);
  load.start({ owner: one, count: 300, ms });
  await advance(5);
  const limit = load.found?.limit;
  const before = load.served.get(one) ?? 0;
  const refusedBefore = load.refused;
  await advance(4);
  const perSecond = ((load.served.get(one) ?? 0) - before) / 4;
  const refusedPerSecond = (load.refused - refusedBefore) / 4;
  load.stop();
  await advance(5);
  return { limit, perSecond, refusedPerSecond };
}

const steady = (ms: number): (() => number) => times(ms, 0.05);
const jitter = (ms: number): (() => number) => times(ms, 0.5);

type Row = readonly [string, () => UpstreamModel, () => number, low: number, high: number];
const usual: readonly Row[] = [
  ['that refuses calls beyond 32, with jitter', () => refusing(32), jitter(30), 28, 34],
  ['that works on 32 calls at once', () => parallel(32), steady(30), 256, 256],
  ['that is slower with each call', () => slowing((calls) => 1 + calls / 32), steady(10), 256, 256],
];
const more: readonly Row[] = [
  ['that refuses calls beyond 32', () => refusing(32), steady(30), 28, 34],
  ['that works on all calls at once', () => slowing(() => 1), steady(30), 256, 256],
  ['that works on all calls at once, with jitter', () => slowing(() => 1), jitter(30), 256, 256],
];

describe('the limit after 5 s, with which no fewer calls are served than without it, of an upstream', () => {
  it.each(inLongRun([...usual, ...more], usual))('%s', async (_, upstream, ms, low, high) => {
    const without = await run(upstream(), ms, false);
    const found = await run(upstream(), ms, true);
    expect(found.limit).toBeGreaterThanOrEqual(low);
    expect(found.limit).toBeLessThanOrEqual(high);
    expect(found.perSecond).toBeGreaterThan(0.87 * without.perSecond);
    expect(found.refusedPerSecond).toBeLessThanOrEqual(0.02 * found.perSecond);
  });
});

describe('lookups of one key that fill an upstream', () => {
  it.each([
    [32, 30],
    [64, 300],
    [128, 30],
  ])('with %i places of %i ms: a lookup of another key takes no longer than half as long again', async (places, ms) => {
    const load = new UpstreamLoad(parallel(places));
    load.start({ owner: other, count: 1, ms: () => ms, timeoutMs: 5_000, pauseMs: 200 });
    await advance(3);
    load.start({ owner: one, count: 256, ms: () => ms });
    await advance(8);
    const [before, served] = [load.latencies.get(other)?.length ?? 0, load.served.get(one) ?? 0];
    await advance(20);
    const later = load.latencies.get(other)?.slice(before) ?? [];
    expect(later.length).toBeGreaterThan(20);
    expect(Math.max(...later)).toBeLessThanOrEqual(1.5 * ms + 30);
    expect((load.served.get(one) ?? 0) - served).toBeGreaterThan((0.8 * 20_000 * places) / ms);
    load.stop();
    await advance(20);
  });

  it('its lookups that are slow, and others that are slow without it, lower nothing', async () => {
    const load = new UpstreamLoad(slowing(() => 1));
    load.start({ owner: other, count: 1, ms: () => 200, pauseMs: 200 });
    await advance(3);
    load.start({ owner: one, count: 300, ms: times(400, 1) });
    await advance(20);
    expect(load.found?.limit).toBe(256);
    load.stop();
    await advance(20);
  });
});

it('rises less often each time that the upstream refuses the calls of the raised limit', async () => {
  const load = new UpstreamLoad(refusing(32));
  load.start({ owner: one, count: 300, ms: steady(30) });
  await advance(60);
  const before = load.refused;
  await advance(inLongRun(300, 100));
  expect(load.refused).toBeGreaterThan(before);
  expect(load.refused - before).toBeLessThan(inLongRun(60, 25));
  load.stop();
  await advance(5);
});

it('rises again when the upstream works on more calls at once', async () => {
  const [small, large] = [refusing(16), refusing(200)];
  let upstream = small;
  const load = new UpstreamLoad((ms) => upstream(ms));
  load.start({ owner: one, count: 300, ms: steady(20) });
  await advance(5);
  expect(load.found?.limit).toBeLessThanOrEqual(20);
  upstream = large;
  await advance(20);
  expect(load.found?.limit).toBeLessThanOrEqual(20);
  await advance(60);
  expect(load.found?.limit).toBeGreaterThan(150);
  load.stop();
});

it('does not fall while the upstream itself becomes slower, whatever the number of calls', async () => {
  let ms = 20;
  const load = new UpstreamLoad(slowing(() => 1));
  load.start({ owner: one, count: 300, ms: () => ms });
  await advance(3);
  ms = 200;
  await advance(10);
  expect(load.found?.limit).toBeGreaterThanOrEqual(128);
  await advance(10);
  load.stop();
});

describe('slow calls of one key that fill an upstream', () => {
  it.each<[string, number, () => UpstreamModel, number]>([
    ['where others wait', 64, () => parallel(64), 10],
    ['that refuses others', 64, () => refusing(64), 10],
    ['with 16 places, where others wait', 16, () => parallel(16, true), 20],
    ['with 16 places, that refuses others', 16, () => refusing(16), 10],
    ['with 10 places, that refuses others', 10, () => refusing(10), 10],
  ])('%s: the limit is found', async (_, places, upstream, seconds) => {
    const load = new UpstreamLoad(upstream());
    load.start({ owner: other, count: 1, ms: () => 200, timeoutMs: 5_000, pauseMs: 4_000 });
    await advance(3);
    load.start({ owner: one, count: 90, method: ethCall, ms: () => 9_000, timeoutMs: 10_000 });
    await advance(seconds);
    expect(load.found?.limit).toBeLessThanOrEqual(places);
    expect(load.found?.limit).toBeGreaterThanOrEqual(8);
    // What waits at the upstream ends.
    await advance(8);
    const [before, refused] = [load.latencies.get(other)?.length ?? 0, load.refused];
    // A higher limit is tried after 30 s.
    await advance(5);
    const later = load.latencies.get(other)?.slice(before) ?? [];
    expect(later.length).toBeGreaterThanOrEqual(1);
    expect(Math.max(...later)).toBeLessThanOrEqual(200);
    expect(load.refused).toBe(refused);
    // Higher limits are tried, and found to be too high.
    const limits: number[] = [];
    for (let second = 0; second < 300; second += 10) {
      await advance(10);
      limits.push(load.found?.limit ?? 0);
    }
    expect(limits.some((limit) => limit > places)).toBe(true);
    expect(limits.filter((limit) => limit <= places).length).toBeGreaterThan(15);
    load.stop();
    await advance(20);
  });

  it.each([64, 32, 16])(
    'with %i places, that works on for closed connections: what it got is worked off, and higher limits are tried ever more rarely',
    async (places) => {
      const load = new UpstreamLoad(parallel(places));
      load.start({ owner: other, count: 1, ms: () => 200, timeoutMs: 5_000, pauseMs: 4_000 });
      await advance(3);
      load.start({ owner: one, count: 90, method: ethCall, ms: () => 9_000, timeoutMs: 10_000 });
      await advance(20);
      expect(load.found?.limit).toBeLessThanOrEqual(places);
      // With 16 places, the first 90 calls alone take 51 s, whatever is sent after them.
      await advance(100);
      const before = load.latencies.get(other)?.length ?? 0;
      await advance(800);
      const later = load.latencies.get(other)?.slice(before) ?? [];
      expect(later.length).toBeGreaterThan(170);
      expect(later.filter((ms) => ms >= 5_000).length).toBeLessThanOrEqual(4);
      load.stop();
      await advance(200);
    },
  );

  it('a lookup that waits lowers the limit after 2 s, before the slow calls end', async () => {
    const load = new UpstreamLoad(parallel(64));
    load.start({ owner: other, count: 1, ms: () => 200, timeoutMs: 5_000, pauseMs: 4_000 });
    await advance(3);
    load.start({ owner: one, count: 90, method: ethCall, ms: () => 9_000, timeoutMs: 10_000 });
    // The lookup begins after 4.2 s.
    await advance(3.1);
    expect(load.found?.limit).toBe(256);
    await advance(0.2);
    expect(load.found?.limit).toBe(30);
    load.stop();
    await advance(20);
  });

  it('slow lookups of the key itself say nothing', async () => {
    const load = new UpstreamLoad(slowing(() => 1));
    let ms = 200;
    load.start({ owner: one, count: 30, ms: () => ms });
    load.start({ owner: other, count: 1, method: ethCall, ms: () => 200, pauseMs: 1_000 });
    await advance(3);
    ms = 3_000;
    await advance(20);
    expect(load.found?.limit).toBe(256);
    load.stop();
    await advance(20);
  });

  it('slow lookups of many keys leave 32', async () => {
    const load = new UpstreamLoad(slowing(() => 1));
    let ms = 200;
    for (let key = 0; key < 20; key++) load.start({ owner: new Account(`key ${key}`), count: 5, ms: () => ms });
    await advance(3);
    ms = 3_000;
    await advance(30);
    expect(load.found?.limit).toBeGreaterThanOrEqual(32);
    load.stop();
    await advance(20);
  });

  it('one slow lookup says nothing while others are quick, nor where none has been quick', async () => {
    const load = new UpstreamLoad(slowing(() => 1));
    load.start({ owner: one, count: 90, method: ethCall, ms: () => 9_000 });
    load.start({ owner: other, count: 1, ms: () => 4_000 });
    await advance(20);
    expect(load.found?.limit).toBe(256);
    load.start({ owner: third, count: 1, ms: () => 200, pauseMs: 1_000 });
    await advance(20);
    expect(load.found?.limit).toBe(256);
    load.stop();
    await advance(20);
  });
});

it('is not used while no call waits', async () => {
  const load = new UpstreamLoad(slowing((calls) => calls));
  load.start({ owner: one, count: 200, ms: steady(1) });
  await advance(5);
  expect(load.found?.limit).toBe(256);
  load.stop();
});

describe('a caller cannot lower the limit for others', () => {
  it('with calls that run its code, however long they take', async () => {
    const load = new UpstreamLoad(slowing(() => 1));
    // They are slow at the limit, and quick at half of it.
    load.start({ owner: one, count: 300, method: ethCall, ms: () => (load.slots.inFlight > 130 ? 400 : 20) });
    await advance(20);
    expect(load.found?.limit).toBe(256);
    load.stop();
  });

  it('with its lookups, if another key sends some', async () => {
    const load = new UpstreamLoad(slowing(() => 1));
    load.start({ owner: one, count: 300, ms: () => (load.slots.inFlight > load.slots.size / 2 ? 400 : 20) });
    load.start({ owner: other, count: 8, ms: steady(20) });
    let lowest = 256;
    for (let second = 0; second < 20; second++) {
      await advance(1);
      lowest = Math.min(lowest, load.found?.limit ?? 0);
    }
    expect(lowest).toBeGreaterThanOrEqual(128);
    load.stop();
  });

  it('with refused calls, while most others are served', async () => {
    const load = new UpstreamLoad(async (ms) => {
      await clock.sleep(Math.abs(ms));
      return ms > 0;
    });
    load.start({ owner: one, count: 250, ms: () => -20 });
    load.start({ owner: other, count: 12, ms: steady(20) });
    load.start({ owner: third, count: 12, ms: steady(20) });
    await time().advance(300);
    expect(load.found?.limit).toBe(256);
    load.stop();
  });
});

it('an upstream cannot lower it below 8, and nothing is refused then that others may send', async () => {
  const load = new UpstreamLoad(async () => {
    await clock.sleep(5);
    return false;
  });
  load.start({ owner: one, count: 300, ms: steady(5) });
  await advance(10);
  expect(load.found?.limit).toBe(8);
  load.stop();
});
