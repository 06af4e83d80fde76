import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Random } from '../../bench/random.ts';
import { ChainPoller, type FeedEvents, type PolledUpstream } from '../../gateway/chain/poller.ts';
import { clock } from '../../gateway/clock/clock.ts';
import { openLog } from '../../gateway/config/log.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import { simulateTime } from '../support/simulate-time.ts';

const ROUND_TRIP_MS = 30;
const time = simulateTime();

interface Followed {
  /** Delays from the block at the node to its head in the gateway, in ms. */
  readonly delays: number[];
  readonly polls: number;
  readonly rounds: number;
}

/** Watches a node over HTTP for some minutes. @param nextMs the time until the next block */
async function follow(
  blockS: number,
  nextMs: (number: number) => number,
  minutes = 5,
  { isExpected = true, isSubscribed = false } = {},
): Promise<Followed> {
  let number = 0;
  let polls = 0;
  let rounds = 0;
  let feed: FeedEvents | undefined;
  const minedAt: number[] = [clock.now()];
  const delays: number[] = [];
  const numbers = new Map<string, number>();
  // The clock stops with the test.
  const mine = async (): Promise<never> => {
    for (;;) {
      await clock.sleep(nextMs(number));
      minedAt[++number] = clock.now();
      numbers.set(hashOf(`block ${number}`), number);
      feed?.notified(blockOf(number, blockS));
    }
  };
  void mine();
  const metrics = new Metrics();
  const upstream: PolledUpstream = {
    name: 'node',
    group: 'node',
    circuit: { isClosed: true },
    isOnOtherChain: false,
    isHeadUncertain: false,
    metrics: metrics.upstreamMetrics('test', 'node'),
    verifyChain: () => Promise.resolve(true),
    isUnwatched: () => false,
    subscribe: (_params, events) => {
      if (!isSubscribed) return undefined;
      feed = events;
      events.started();
      return { close: () => undefined };
    },
    fetchResult: async (_method, params) => {
      const [which] = JSON.parse(params) as [string];
      if (which === 'latest') polls++;
      await clock.sleep(ROUND_TRIP_MS / 2);
      const block = blockOf(which === 'latest' ? number : (numbers.get(which) ?? 0), blockS);
      await clock.sleep(ROUND_TRIP_MS / 2);
      return block;
    },
  };
  const poller = new ChainPoller([upstream], metrics.networkMetrics('test'), {
    isDevelopment: false,
    times: isExpected ? {} : { expectedMinMs: Infinity },
    log: openLog('silent'),
  });
  poller.replaceUpstreams([upstream], [{ probeIfIdle: () => void rounds++ }]);
  const stop = poller.watch(({ added }) => {
    for (const header of added) delays.push(clock.now() - (minedAt[Number(header.number)] ?? NaN));
  });
  await time().advance(minutes * 60_000);
  stop();
  poller.close();
  return { delays, polls, rounds };
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
    [2, 100, 66],
    [12, 350, 24],
  ])(
    'with blocks of %i s deliver heads after %i ms on average, with %i polls a minute at most',
    async (blockS, ms, perMinute) => {
      const { delays, polls } = await follow(blockS, () => 1_000 * blockS);
      expect(delays.length).toBeGreaterThanOrEqual((4.8 * 60) / blockS);
      expect(mean(delays.slice(10))).toBeLessThan(ms);
      expect(polls / 5).toBeLessThanOrEqual(perMinute);
    },
  );

  it('find blocks that are missed now and then, or come up to 0.1 s late', async () => {
    const late = (number: number): number => (number % 20 === 0 ? 24_000 : 12_000 + 100 * Math.sin(number));
    const { delays, polls } = await follow(12, late, 20);
    expect(mean(delays.slice(10))).toBeLessThan(1_000);
    expect(polls / 20).toBeLessThanOrEqual(28);
  });

  it('are about as many and as late as at equal intervals for blocks at random times', async () => {
    const atRandom = (isExpected: boolean): Promise<Followed> => {
      const random = new Random(1);
      return follow(5, () => 1 - 5_000 * Math.log(1 - random.next()), 30, { isExpected });
    };
    const [atIntervals, expected] = [await atRandom(false), await atRandom(true)];
    expect(mean(expected.delays)).toBeLessThan(1.1 * mean(atIntervals.delays));
    expect(expected.polls).toBeLessThan(1.2 * atIntervals.polls);
    expect(expected.polls / 30).toBeLessThan(60);
  });

  it('are one a second for blocks of less than 1.8 s', async () => {
    const { polls } = await follow(1, () => 1_000);
    expect(polls / 5).toBeLessThanOrEqual(66);
  });
});

it('the block of an upstream that sends notifications is not expected: it starts no rounds', async () => {
  const late = (number: number): number => 12_000 + 300 * (number % 2);
  const [atIntervals, expected] = [
    await follow(12, late, 5, { isExpected: false, isSubscribed: true }),
    await follow(12, late, 5, { isSubscribed: true }),
  ];
  expect([expected.delays.length, expected.rounds]).toEqual([atIntervals.delays.length, atIntervals.rounds]);
});
