import { describe, expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import type { SeenHead } from '../../gateway/chain/header.ts';
import { NewestServed } from '../../gateway/chain/newest-served.ts';
import { followCache, latest, receiptIn } from '../cache/follow-cache.ts';
import { eventually } from '../support/eventually.ts';
import { ScriptedChain } from './scripted-chain.ts';
import { withHeads } from './with-heads.ts';

const BLOCK_MS = 12_000;

const source = 'node-0';

describe('the newest served block', () => {
  const headAt = (number: bigint, at = 0): SeenHead => {
    return { number, at, gasLimit: undefined, timestamp: undefined, header: undefined };
  };

  /** Serves these blocks at these times, with a network's head of 100 at 0 ms. */
  const served = (...blocks: readonly (readonly [number: bigint, atMs: number])[]): NewestServed<string> => {
    const newest = new NewestServed<string>();
    newest.follow(headAt(100n), BLOCK_MS, false, () => undefined);
    for (const [number, atMs] of blocks) newest.record(number, source, atMs, false);
    return newest;
  };

  it.each<[string, [bigint, number][], bigint]>([
    [
      'rises with each newer block',
      [
        [99n, 0],
        [101n, 0],
        [100n, 0],
      ],
      101n,
    ],
    ['may be above the head, because a response can be newer than the last poll', [[116n, 0]], 116n],
    [
      'ignores a number far above the head',
      [
        [99n, 0],
        [118n, 0],
        [2n ** 60n, 0],
      ],
      99n,
    ],
    ['accepts the blocks of a pause without polls', [[400n, 100 * BLOCK_MS]], 400n],
  ])('%s', (_name, blocks, number) => {
    expect(served(...blocks).number).toBe(number);
  });

  it('does not fall with a head below it, unless the upstreams agree that the chain is shorter', () => {
    const newest = served([105n, 0]);
    newest.follow(headAt(103n), BLOCK_MS, false, () => undefined);
    expect(newest.number).toBe(105n);
    newest.follow(headAt(102n), BLOCK_MS, true, () => undefined);
    expect(newest.number).toBe(102n);
  });

  it('falls to the head if the upstream that returned it has a lower head after 15 s', () => {
    const newest = served([105n, 0]);
    newest.follow(headAt(100n, 14_000), BLOCK_MS, false, () => headAt(100n, 14_000));
    expect(newest.number).toBe(105n);
    newest.follow(headAt(100n, 16_000), BLOCK_MS, false, () => headAt(100n, 16_000));
    expect(newest.number).toBe(100n);
  });

  it('falls to the newest block of the shorter chain that callers were served', () => {
    const newest = served([105n, 0]);
    newest.record(42n, source, 1_000, false);
    newest.record(4n, source, 1_000, true);
    newest.follow(headAt(3n, 2_000), BLOCK_MS, true, () => undefined);
    expect(newest.number).toBe(4n);
  });

  it.each([
    ['before a newer one', [41n, 42n, 40n, 45n]],
    ['after the newest one', [41n, 45n, 42n]],
  ])('does not fall to a late block of the longer chain, returned %s', (_name, late) => {
    const newest = new NewestServed<string>();
    newest.follow(headAt(44n), 750, false, () => undefined);
    for (const number of late) newest.record(number, source, 500, true);
    for (const number of [1n, 2n]) newest.record(number, source, 1_000, true);
    newest.follow(headAt(2n, 2_000), 750, true, () => undefined);
    expect(newest.number).toBe(2n);
  });

  it('remains if that upstream has failed, so that the others lag', () => {
    const newest = served([105n, 0]);
    newest.follow(headAt(100n, 16_000), BLOCK_MS, false, () => headAt(105n, 0));
    expect(newest.number).toBe(105n);
  });

  it('falls to the first head, if that shows that the number was too high', () => {
    const newest = new NewestServed<string>();
    newest.record(2n ** 60n, source, 0, false);
    expect(newest.number).toBe(2n ** 60n);
    newest.follow(headAt(100n), BLOCK_MS, false, () => undefined);
    expect(newest.number).toBe(100n);
  });
});

describe('after a reorg to a lower head, the newest served block', () => {
  it('is the same for routing and for the cache, which caches state at the new head', async () => {
    const { chain, poller, store, waitForHead } = await followCache();
    await waitForHead(chain.mine(3));
    // A receipt in a block that the gateway has not polled yet.
    store('eth_getTransactionReceipt', [`0x${'ab'.repeat(32)}`], receiptIn(chain.copy().mine()));
    expect([poller.view.newestServed, store('eth_getBalance', latest, '0x5').first]).toEqual([104n, undefined]);
    // The blocks 102 and 103 are replaced by another 102.
    const head = chain.reorganise(2, 1);
    await eventually(() => poller.view.newestServed === 102n);
    await waitForHead(head);
    expect(store('eth_getBalance', latest, '0x5').first).toBe('"0x5"');
  });

  it('is the newest block that callers named by its number before that head was agreed on', async () => {
    const all = await withHeads([new ScriptedChain({ from: 50 })], { isDevelopment: true, confirmMinMs: 200 });
    const { poller, watch } = all;
    const [node, upstream] = [all.nodes[0], all.upstreams[0]];
    if (node === undefined || upstream === undefined) throw new Error('there is no node');
    await watch();
    node.chain = new ScriptedChain({ from: 5 });
    await eventually(() => poller.view.headOf(upstream)?.number === 5n);
    for (const number of [6n, 3n]) poller.served(upstream, { number }, clock.now());
    expect(poller.view.newestServed).toBe(50n);
    await eventually(() => poller.view.number === 5n);
    expect(poller.view.newestServed).toBe(6n);
  });
});
