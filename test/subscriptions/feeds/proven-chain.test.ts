import { describe, expect, it, onTestFinished } from 'vitest';
import type { ChainChange } from '../../../gateway/chain/header-ring.ts';
import type { Header } from '../../../gateway/chain/header.ts';
import type { Hold } from '../../../gateway/chain/witness-tracker.ts';
import { clock } from '../../../gateway/clock/clock.ts';
import { openLog } from '../../../gateway/config/log.ts';
import { ProvenChain, type ProvenChainOptions } from '../../../gateway/subscriptions/feeds/proven-chain.ts';
import {
  NetworkSubscriptions,
  type NetworkSubscriptionsOptions,
} from '../../../gateway/subscriptions/network-subscriptions.ts';
import { ScriptedChain } from '../../chain/scripted-chain.ts';
import { pollerOf, simulatedUpstream } from '../../chain/simulated-upstream.ts';
import { simulateTime } from '../../support/simulate-time.ts';

const time = simulateTime();
const BLOCK_MS = 2_000;

/** What a watcher got: the hashes of the blocks that it has, and when each came. */
class Watcher {
  readonly times = new Map<string, number>();
  blocks: string[] = [];
  gaps = 0;

  handle({ removed, added, hasGap }: ChainChange): void {
    if (hasGap === true) this.gaps++;
    for (const { hash } of removed) {
      expect(this.blocks.at(-1) ?? hash).toBe(hash);
      this.blocks.pop();
    }
    for (const { hash } of added) {
      expect(this.blocks).not.toContain(hash);
      this.blocks.push(hash);
      this.times.set(hash, clock.now());
    }
  }
}

interface Options extends Partial<Pick<ProvenChainOptions, 'isRequired' | 'proveHeader'>> {
  readonly hold?: Hold;
}

/** A chain of three groups, which all must have a block. The third one may have another chain. */
function open({ isRequired, proveHeader, hold = 'no' }: Options = {}) {
  const chain = new ScriptedChain({ secondsApart: BLOCK_MS / 1_000 });
  const [first, second, third] = ['first', 'second', 'third'].map((name) => simulatedUpstream(name, chain));
  if (first === undefined || second === undefined || third === undefined) throw new Error('three are created');
  const poller = pollerOf([]);
  poller.replaceUpstreams([first, second, third], [], { count: 3, hold });
  onTestFinished(() => {
    poller.close();
  });
  const lines: string[] = [];
  const log = openLog('error');
  log.error = (_: unknown, text?: string) => lines.push(text ?? '');
  const proven = new ProvenChain({
    ...{ chain: poller, log },
    isRequired: isRequired ?? true,
    proveHeader: proveHeader ?? ((header) => Promise.resolve(header)),
  });
  /** @returns ends it */
  const watch = (watcher: Watcher): (() => void) => {
    const stop = proven.watch((change) => {
      watcher.handle(change);
    });
    onTestFinished(stop);
    return stop;
  };
  /** Mines so many blocks. @param after follows each of them */
  const mine = async (count: number, after = (_: number): void => undefined): Promise<void> => {
    for (let mined = 0; mined < count; mined++) {
      chain.mine();
      after(mined);
      await time().advance(BLOCK_MS);
    }
  };
  return { chain, third, poller, proven, watch, mine, lines };
}

/** The hashes of the newest blocks of a chain, oldest first. */
function newestOf(chain: ScriptedChain, count: number): string[] {
  const hashes: string[] = [];
  for (let block = chain.byHash(chain.head.hash); block !== null && hashes.length < count;)
    [hashes[hashes.length], block] = [block.hash, chain.byHash(block.parentHash)];
  return hashes.reverse();
}

describe('a block without witnesses', () => {
  /** The third upstream has each block 30 blocks late. */
  function openLate(options: Options) {
    const opened = open(options);
    const { chain, third } = opened;
    const copies: ScriptedChain[] = [];
    const minedAt = new Map<string, number>();
    const mineLate = (count: number): Promise<void> =>
      opened.mine(count, () => {
        minedAt.set(chain.head.hash, clock.now());
        copies.push(chain.copy());
        third.chain = copies.at(-31) ?? copies[0] ?? chain;
      });
    const delays = (watcher: Watcher): number[] =>
      [...watcher.times].map(([hash, at]) => at - (minedAt.get(hash) ?? NaN));
    return { ...opened, mineLate, delays };
  }

  it('is delivered after 15 s without `require`, also while older blocks get theirs', async () => {
    const { watch, mineLate, delays } = openLate({ isRequired: false });
    await mineLate(40);
    const watcher = new Watcher();
    watch(watcher);
    await mineLate(100);
    const later = delays(watcher).slice(-60);
    expect(later).toHaveLength(60);
    expect(Math.max(...later)).toBeLessThan(20_000);
    expect(Math.min(...later)).toBeGreaterThanOrEqual(15_000);
    expect(watcher.gaps).toBe(0);
  });

  it('is delivered as late as its witness with `require`, without a gap', async () => {
    const { watch, mineLate, delays } = openLate({ isRequired: true });
    await mineLate(40);
    const watcher = new Watcher();
    watch(watcher);
    await mineLate(100);
    expect(delays(watcher).length).toBeGreaterThan(90);
    expect(Math.min(...delays(watcher))).toBeGreaterThanOrEqual(60_000);
    expect(watcher.gaps).toBe(0);
  });

  it('counts as served when it is delivered', async () => {
    const { watch, mineLate, poller, chain } = openLate({ isRequired: true });
    await mineLate(40);
    const watcher = new Watcher();
    watch(watcher);
    await mineLate(40);
    const { newestServed, number } = poller.view;
    expect(newestServed).toBe(BigInt(chain.byHash(watcher.blocks.at(-1) ?? '')?.number ?? -1));
    expect(number).toBeGreaterThan(newestServed);
  });
});

describe('if nothing can be delivered while the chain goes on, there is a gap a minute later than a block waits for witnesses', () => {
  it.each([
    ['witnesses are missing', {}],
    ['witnesses are missing, so that the head is held', { hold: 'always' }],
    ['no header can be proven', { proveHeader: () => Promise.resolve(undefined) }],
  ] satisfies [string, Options][])('%s', async (_, options) => {
    const { watch, mine, chain, third } = open(options);
    const [watcher, later] = [new Watcher(), new Watcher()];
    watch(watcher);
    await mine(2);
    const before = watcher.blocks.length;
    if (!('proveHeader' in options)) third.chain = chain.copy();
    await mine(35);
    expect([watcher.blocks.length, watcher.gaps]).toEqual([before, 0]);
    await mine(13);
    expect([watcher.blocks.length, watcher.gaps]).toEqual([before, 1]);
    watch(later);
    await mine(25);
    expect([watcher.gaps, later.gaps]).toEqual([1, 0]);
    await mine(20);
    expect([watcher.gaps, later.gaps]).toEqual([2, 1]);
  });

  it('it begins again after that', async () => {
    const { watch, mine, chain, third } = open();
    const watcher = new Watcher();
    watch(watcher);
    third.chain = chain.copy();
    await mine(50);
    expect([watcher.blocks, watcher.gaps]).toEqual([[], 1]);
    third.chain = chain;
    await time().advance(BLOCK_MS);
    watcher.blocks = [];
    await mine(10);
    expect([watcher.blocks, watcher.gaps]).toEqual([newestOf(chain, 10), 1]);
  });

  it('a chain without new blocks has none', async () => {
    const { watch, mine } = open();
    const watcher = new Watcher();
    watch(watcher);
    await time().advance(100);
    await mine(3);
    await time().advance(600_000);
    expect([watcher.blocks.length, watcher.gaps]).toEqual([3, 0]);
  });
});

it('after an error of one watcher all get a gap, and what comes later', async () => {
  const { proven, watch, mine, chain, lines } = open();
  const watcher = new Watcher();
  let errors = 0;
  const stop = proven.watch(({ hasGap }) => {
    if (hasGap === true || errors > 0) return;
    errors++;
    throw new Error('a defect');
  });
  onTestFinished(stop);
  watch(watcher);
  await mine(3);
  expect([errors, watcher.gaps, lines.length]).toEqual([1, 1, 1]);
  await mine(3);
  expect(watcher.blocks.slice(-3)).toEqual(newestOf(chain, 3));
});

/** Proofs take this long. */
const slowly =
  (ms: number): ProvenChainOptions['proveHeader'] =>
  async (header: Header) => {
    await clock.sleep(ms);
    return header;
  };

it('a watcher that comes while a proof for former ones is in progress gets the blocks after its start, once', async () => {
  const { watch, mine, chain } = open({ proveHeader: slowly(5_000) });
  const [former, watcher] = [new Watcher(), new Watcher()];
  const stop = watch(former);
  await time().advance(1_000);
  await mine(1);
  stop();
  watch(watcher);
  await time().advance(100);
  await mine(3);
  await time().advance(30_000);
  expect([former.blocks, watcher.blocks, watcher.gaps]).toEqual([[], newestOf(chain, 3), 0]);
});

it('blocks that are replaced while they are proven are removed again', async () => {
  const { watch, mine, chain } = open({ proveHeader: slowly(5_000) });
  const watcher = new Watcher();
  watch(watcher);
  await time().advance(1_000);
  await mine(2);
  chain.reorganise(2);
  await time().advance(60_000);
  expect([watcher.blocks, watcher.gaps]).toEqual([newestOf(chain, 3), 0]);
});

it('a poll of a filter waits for a block that has its witnesses, until it is proven', async () => {
  const { poller, chain } = open();
  // Logs, receipts, metrics and usage are for others.
  const sources = { all: [], proveHeader: slowly(200) };
  const subscriptions = new NetworkSubscriptions({
    ...{ chain: poller, upstreams: sources },
  } as unknown as NetworkSubscriptionsOptions);
  const headers: string[] = [];
  const subscriber = {
    deliver: (results: readonly string[]): void => void headers.push(...results),
    markGap: () => undefined,
  };
  await time().advanceUntil(Promise.resolve(subscriptions.subscribe({ kind: 'newHeads' }, subscriber, 'require')));
  const delivery = (): Promise<unknown> | undefined => subscriptions.deliveryOf('newHeads', undefined, 'require');
  expect(delivery()).toBeUndefined();
  chain.mine();
  while (poller.view.witnesses.block?.hash !== chain.head.hash) await time().advance(10);
  expect(headers).toEqual([]);
  const pending = delivery();
  expect(pending).toBeDefined();
  await time().advanceUntil(pending as Promise<unknown>);
  expect(headers).toEqual([expect.stringContaining(chain.head.hash)]);
  expect(delivery()).toBeUndefined();
});
