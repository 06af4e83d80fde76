import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ChainPoller, type PolledUpstream } from '../../gateway/chain/poller.ts';
import { clock, installClock } from '../../gateway/clock/clock.ts';
import { openLog } from '../../gateway/config/log.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

const systemClock = clock;
const ROUND_TRIP_MS = 30;
let time: SimulatedClock;

beforeEach(() => {
  time = new SimulatedClock();
  installClock(time);
});

afterEach(() => {
  installClock(systemClock);
});

interface Followed {
  /** From the block at the node to its head in the gateway, in ms. */
  readonly delays: number[];
  readonly polls: number;
}

/** Watches a node over HTTP for some minutes. @param nextMs the time until the next block */
async function follow(blockS: number, nextMs: (number: number) => number, minutes = 5): Promise<Followed> {
  let number = 0;
  let polls = 0;
  const minedAt: number[] = [clock.now()];
  const delays: number[] = [];
  const mine = (): void => {
    minedAt[++number] = clock.now();
    clock.setTimeout(mine, nextMs(number));
  };
  clock.setTimeout(mine, nextMs(0));
  const metrics = new Metrics();
  const upstream: PolledUpstream = {
    name: 'node',
    circuit: { isClosed: true },
    isOnOtherChain: false,
    isHeadUncertain: false,
    metrics: metrics.heads.upstreamMetrics('test', 'node'),
    verifyChain: () => Promise.resolve(true),
    isUnwatched: () => false,
    subscribe: () => undefined,
    fetchResult: async () => {
      polls++;
      await clock.sleep(ROUND_TRIP_MS / 2);
      const block = blockOf(number, blockS);
      await clock.sleep(ROUND_TRIP_MS / 2);
      return block;
    },
  };
  const poller = new ChainPoller([upstream], metrics.heads.networkMetrics('test'), {
    isDevelopment: false,
    log: openLog('silent'),
  });
  const stop = poller.watch(({ added }) => {
    for (const header of added) delays.push(clock.now() - (minedAt[Number(header.number)] ?? NaN));
  });
  await time.advance(minutes * 60_000);
  stop();
  poller.close();
  return { delays, polls };
}

function blockOf(number: number, blockS: number): Record<string, string> {
  const hex = (value: number): string => `0x${value.toString(16)}`;
  return {
    ...{ number: hex(number), hash: hashOf(`block ${number}`), parentHash: hashOf(`block ${number - 1}`) },
    ...{ timestamp: hex(1_700_000_000 + Math.round(number * blockS)), gasLimit: '0x1c9c380' },
  };
}

function hashOf(text: string): string {
  return `0x${createHash('sha256').update(text).digest('hex')}`;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('polls of a node over HTTP, while clients are subscribed', () => {
  it.each([
    [2, 150, 110],
    [12, 400, 28],
  ])('with blocks of %i s deliver heads after %i ms on average, with %i polls a minute at most', async (blockS, ms, perMinute) => {
    const { delays, polls } = await follow(blockS, () => 1_000 * blockS);
    expect(delays.length).toBeGreaterThanOrEqual((4.8 * 60) / blockS);
    expect(mean(delays.slice(10))).toBeLessThan(ms);
    expect(polls / 5).toBeLessThanOrEqual(perMinute);
  });

  it('find blocks that are missed now and then, or come up to 0.1 s late', async () => {
    const late = (number: number): number => (number % 20 === 0 ? 24_000 : 12_000 + 100 * Math.sin(number));
    const { delays, polls } = await follow(12, late, 20);
    expect(mean(delays.slice(10))).toBeLessThan(1_000);
    expect(polls / 20).toBeLessThanOrEqual(28);
  });

  it('are as before for blocks at random times: at most one a second', async () => {
    let state = 1;
    const random = (): number => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
    const { delays, polls } = await follow(5, () => 1 - 5_000 * Math.log(random()), 20);
    expect(mean(delays)).toBeLessThan(2_500);
    expect(polls / 20).toBeLessThanOrEqual(60);
  });

  it('are as before for blocks of less than 1.8 s: one a second', async () => {
    const { polls } = await follow(1, () => 1_000);
    expect(polls / 5).toBeLessThanOrEqual(66);
  });
});
