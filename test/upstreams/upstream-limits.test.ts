import { describe, expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { Limiter } from '../../gateway/limits/limiter.ts';
import { MachineSums, serveSums } from '../../gateway/limits/machine-sums.ts';
import type { SharedSums } from '../../gateway/limits/shared-sums.ts';
import type { UpstreamLimitsConfig } from '../../gateway/network-files/network-config.ts';
import { StoreUnreachable } from '../../gateway/store/store-error.ts';
import { UpstreamLimits } from '../../gateway/upstreams/upstream-limits.ts';
import { MachineSlots } from '../../gateway/workers/machine-slots.ts';
import { WorkerSlots } from '../../gateway/workers/worker-slots.ts';
import { ownLimits } from '../support/own-limits.ts';
import { simulateTime } from '../support/simulate-time.ts';
import { linkedWorkers, type LinkedWorkers } from '../workers/linked-workers.ts';

const time = simulateTime();

it('a limit of concurrency without a rate gives a finite waiting time', () => {
  const limits = new UpstreamLimits({ concurrency: 1 }, ownLimits());
  limits.beginRequest();
  expect(limits.hasCapacity()).toBe(false);
  expect(limits.waitMs).toBeGreaterThan(0);
  expect(limits.waitMs).toBeLessThan(10_000);
});

it('tokens for requests of the gateway itself are restored within the time of two bursts', async () => {
  const limits = new UpstreamLimits({ perSecond: 5, burst: 5 }, ownLimits());
  for (let count = 0; count < 500; count++) {
    limits.beginRequest();
    limits.endRequest();
  }
  expect(limits.waitMs).toBeLessThanOrEqual(1_200);
  await time().advance(2_000);
  expect(limits.hasCapacity()).toBe(true);
});

it('a request that was admitted and not sent leaves its slot and its unit of the rate to the next one', () => {
  const limits = new UpstreamLimits({ perSecond: 0.001, burst: 2, concurrency: 1 }, ownLimits());
  expect(limits.admit()).toBe(true);
  limits.endRequest();
  expect(limits.admit()).toBe(true);
  expect(limits.hasCapacity()).toBe(false);
  limits.giveBack();
  expect(limits.admit()).toBe(true);
  limits.endRequest();
  expect(limits.admit()).toBe(false);
});

it('a unit that was not sent is not added to a bucket that is full again', async () => {
  const limits = new UpstreamLimits({ perSecond: 1, burst: 2 }, ownLimits());
  expect(limits.admit()).toBe(true);
  limits.giveBack();
  await time().advance(2_000);
  expect([limits.admit(), limits.admit(), limits.admit()]).toEqual([true, true, false]);
});

describe('of several workers together', () => {
  async function open(
    count: number,
    config: UpstreamLimitsConfig,
    openRedis?: () => SharedSums,
  ): Promise<{ readonly workers: LinkedWorkers; readonly all: readonly UpstreamLimits[] }> {
    const { workers, links } = await linkedWorkers(count);
    new MachineSlots(workers.router, count).serve();
    serveSums(workers.router, openRedis);
    const all = links.map((link) => {
      const sums = new MachineSums(link, { kind: openRedis?.().kind ?? 'primary', restore: () => Promise.resolve() });
      const limiter = new Limiter({ sums, shouldServeWithoutRedis: true });
      return new UpstreamLimits(config, { name: 'main/node', limiter, leases: new WorkerSlots(link) });
    });
    return { workers, all };
  }

  /** Sends a request if the limits permit it. */
  async function sendOne(limits: UpstreamLimits): Promise<boolean> {
    while (limits.mayAdmit()) if (await limits.admit()) return true;
    return false;
  }

  /** Sends as many requests at once as the limits permit, at most `count`. @returns how many */
  async function send(limits: UpstreamLimits, count: number): Promise<number> {
    const sent = Promise.all(Array.from({ length: count }, () => sendOne(limits)));
    let hasEnded = false;
    void sent.then(() => (hasEnded = true));
    for (let ms = 0; !hasEnded; ms = 1) await time().advance(ms);
    return (await sent).filter(Boolean).length;
  }

  it('requests in flight use the whole concurrency in one, or in all', async () => {
    const { all } = await open(2, { concurrency: 7 });
    const [one, other] = all as [UpstreamLimits, UpstreamLimits];
    expect(await send(one, 20)).toBe(7);
    expect(await send(other, 20)).toBe(0);
    for (let ended = 0; ended < 3; ended++) one.endRequest();
    await time().advance(0);
    expect(await send(other, 20)).toBe(3);
    expect(await send(one, 20)).toBe(0);
  });

  it('requests in flight never exceed the concurrency while they wait for the rate', async () => {
    const { all } = await open(2, { concurrency: 3, perSecond: 10, burst: 40 });
    const [one, other] = all as [UpstreamLimits, UpstreamLimits];
    expect((await send(one, 9)) + (await send(other, 9))).toBe(3);
  });

  it('calls that find no slot use nothing of the rate', async () => {
    const { all } = await open(1, { concurrency: 4, perSecond: 0.001, burst: 50 });
    const [one] = all as [UpstreamLimits];
    expect(await send(one, 30)).toBe(4);
    let sent = 4;
    for (let count = 4; count > 0; sent += count) {
      for (let ended = 0; ended < count; ended++) one.endRequest();
      count = await send(one, 10);
    }
    expect(sent).toBe(50);
  });

  it('the burst is of all workers while Redis is unavailable', async () => {
    const add = (): Promise<never> => Promise.reject(new StoreUnreachable('Redis is unavailable', 'ERR'));
    const { all } = await open(4, { perSecond: 0.001, burst: 10 }, () => ({
      ...{ kind: 'redis', isUp: false, connection: 1, add },
    }));
    let sent = 0;
    for (const limits of all) sent += await send(limits, 40);
    expect(sent).toBe(10);
  });

  it('the burst can be used by one worker', async () => {
    const { all } = await open(2, { perSecond: 0.001, burst: 10 });
    const [one, other] = all as [UpstreamLimits, UpstreamLimits];
    expect(await send(other, 1)).toBe(1);
    expect(await send(one, 20)).toBe(9);
    expect(await send(other, 20)).toBe(0);
    expect(other.hasCapacity()).toBe(false);
  });

  it('requests of the gateway itself pass in any worker, and count for all', async () => {
    const { all } = await open(2, { perSecond: 0.001, burst: 10 });
    const [one, other] = all as [UpstreamLimits, UpstreamLimits];
    for (let poll = 0; poll < 6; poll++) one.beginRequest();
    await time().advance(200);
    expect(await send(other, 20)).toBe(4);
    one.beginRequest();
  });

  const [perSecond, burst] = [200, 100];
  /** The most that passes in a time, with 100 ms of the rate of each other worker. */
  const most = (ms: number, workers: number): number =>
    burst + (perSecond * ms) / 1_000 + (workers - 1) * perSecond * 0.1 + 1;

  it.each([
    ['one worker', [60, 0]],
    ['both', [60, 60]],
    ['one that is busy, and one with few', [60, 1]],
    ['first one, then the other', undefined],
  ])('in any time, at most the burst and the rate pass, and not much less: %s', async (_name, given) => {
    const { all } = await open(2, { perSecond, burst });
    const seconds = 8;
    let sent = 0;
    const startedAt = clock.now();
    for (let ms = 0; ms < seconds * 1_000; ms = clock.now() - startedAt) {
      const counts = given ?? (ms < 4_000 ? [60, 0] : [0, 60]);
      for (const [index, limits] of all.entries()) sent += await send(limits, counts[index] as number);
      expect(sent).toBeLessThanOrEqual(most(clock.now() - startedAt, 2));
      await time().advance(50);
    }
    expect(sent).toBeGreaterThan(0.9 * (burst + perSecond * seconds));
  });

  it('at ten times the rate, three workers get the rate, also after one of them is killed', async () => {
    const { workers, all } = await open(3, { perSecond, burst });
    const seconds = 6;
    let sent = 0;
    const startedAt = clock.now();
    for (let ms = 0; ms < seconds * 1_000; ms = clock.now() - startedAt) {
      if (ms >= 3_000) workers.end(1);
      for (const limits of ms < 3_000 ? all : all.slice(1)) sent += await send(limits, 20);
      expect(sent).toBeLessThanOrEqual(most(clock.now() - startedAt, 3));
      await time().advance(15);
    }
    expect(sent).toBeGreaterThan(0.95 * (burst + perSecond * seconds));
  });
});
