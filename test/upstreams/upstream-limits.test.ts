import { describe, expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { UpstreamLimits } from '../../gateway/upstreams/upstream-limits.ts';
import { MachineSlots } from '../../gateway/workers/machine-slots.ts';
import { WorkerSlots } from '../../gateway/workers/worker-slots.ts';
import { simulateTime } from '../support/simulate-time.ts';
import { linkedWorkers } from '../workers/linked-workers.ts';

it('a limit of concurrency without a rate gives a finite waiting time', () => {
  const limits = new UpstreamLimits({ concurrency: 1 });
  limits.beginRequest(0);
  expect(limits.hasCapacity(0)).toBe(false);
  expect(limits.waitMs(0)).toBeGreaterThan(0);
  expect(limits.waitMs(0)).toBeLessThan(10_000);
});

it('tokens for requests of the gateway itself are restored within the time of two bursts', () => {
  const limits = new UpstreamLimits({ perSecond: 5, burst: 5 });
  for (let count = 0; count < 500; count++) {
    limits.beginRequest(0);
    limits.endRequest();
  }
  expect(limits.waitMs(0)).toBeLessThanOrEqual(1_200);
  expect(limits.hasCapacity(2_000)).toBe(true);
});

describe('of several workers together', () => {
  const time = simulateTime();
  async function sharedLimits(
    count: number,
    config: ConstructorParameters<typeof UpstreamLimits>[0],
  ): Promise<UpstreamLimits[]> {
    const { workers, links } = await linkedWorkers(count);
    new MachineSlots(workers.router, count).serve();
    return links.map((link) => new UpstreamLimits(config, { leases: new WorkerSlots(link), name: 'main/node' }));
  }

  /** Sends as many requests as the limits permit, at most `count`. @returns how many */
  async function send(limits: UpstreamLimits, count: number): Promise<number> {
    let sent = 0;
    while (sent < count) {
      const more = limits.moreCapacity(clock.now());
      if (more !== undefined) {
        await more;
        continue;
      }
      if (!limits.hasCapacity(clock.now())) break;
      limits.beginRequest(clock.now());
      sent++;
    }
    return sent;
  }

  it('requests in flight use the whole concurrency in one, or in all', async () => {
    const [one, other] = (await sharedLimits(2, { concurrency: 7 })) as [UpstreamLimits, UpstreamLimits];
    expect(await send(one, 20)).toBe(7);
    expect(await send(other, 20)).toBe(0);
    for (let ended = 0; ended < 3; ended++) one.endRequest();
    await time().advance(0);
    expect(await send(other, 20)).toBe(3);
    expect(await send(one, 20)).toBe(0);
  });

  it('the burst can be used by one worker', async () => {
    const [one, other] = (await sharedLimits(2, { perSecond: 0.001, burst: 10 })) as [UpstreamLimits, UpstreamLimits];
    expect(await send(other, 1)).toBe(1);
    expect(await send(one, 20)).toBe(9);
    expect(await send(other, 20)).toBe(0);
  });

  it.each([
    ['one worker', [60, 0]],
    ['both', [60, 60]],
    ['one that is busy, and one with few', [60, 1]],
    ['first one, then the other', undefined],
  ])('in any time, at most the burst and the rate pass, and not much less: %s', async (_name, given) => {
    const [perSecond, burst] = [200, 100];
    const all = (await sharedLimits(2, { perSecond, burst })) as [UpstreamLimits, UpstreamLimits];
    const seconds = 8;
    let sent = 0;
    for (let ms = 0; ms < seconds * 1_000; ms += 50) {
      const counts = given ?? (ms < 4_000 ? [60, 0] : [0, 60]);
      for (const [index, limits] of all.entries()) sent += await send(limits, counts[index] as number);
      expect(sent).toBeLessThanOrEqual(burst + (perSecond * ms) / 1_000);
      await time().advance(50);
    }
    expect(sent).toBeGreaterThan(0.9 * (burst + perSecond * seconds));
  });
});
