import { describe, expect, it } from 'vitest';
import { account, simulateNetwork, type SimulatedNetwork } from './simulated-network.ts';

const BLOCK_MS = 12_000;
/** Age as with many calls: the head is polled once in a block time. */
const MAX_AGE_BLOCKS = 1;
const IDLE_MS = [20_000, 60_000, 100_000, 300_000, 1_200_000];
/** Time longer than the polls of upstreams that respond. */
const LONG_WAIT_MS = 500;
const POLL = 'eth_getBlockByNumber ["latest",false]';
const ofLatest = [{ to: account }, 'latest'] as const;

describe('a call for `latest` after a time without calls', () => {
  it.each([
    ['one upstream', [{}]],
    ['two upstreams', [{}, {}]],
    ['an upstream that is stuck', [{ stuckAt: 1_001 }, {}, {}]],
  ])('gets proven state of the newest block, with %s', async (_name, nodes) => {
    const { call, time, head, sum } = simulateNetwork(nodes, BLOCK_MS, { verify: 'enforce' });
    await call('eth_getBalance', [account, 'latest']);
    for (const ms of IDLE_MS) {
      await time.advance(ms);
      const newest = head();
      const { result } = await call('eth_getBalance', [account, 'latest']);
      expect(newest - Number(result)).toBeLessThanOrEqual(MAX_AGE_BLOCKS);
    }
    expect(await sum('proof="proof"')).toBe(1 + IDLE_MS.length);
  });

  it('gets a result of the newest block on which upstreams agree', async () => {
    const { call, time, head, sum } = simulateNetwork([{}, {}], BLOCK_MS, { verify: { agree: { eth_call: 2 } } });
    await call('eth_call', ofLatest);
    for (const ms of IDLE_MS) {
      await time.advance(ms);
      const newest = head();
      const { result } = await call('eth_call', ofLatest);
      expect(newest - Number(result)).toBeLessThanOrEqual(MAX_AGE_BLOCKS);
    }
    expect(await sum('proof="agreed"')).toBe(1 + IDLE_MS.length);
  });

  it('gets the logs up to the newest block', async () => {
    const { call, time, head, requests } = simulateNetwork([{}, {}], BLOCK_MS, { verify: 'require' });
    await call('eth_blockNumber');
    await time.advance(600_000);
    const newest = head();
    const filter = { fromBlock: `0x${(newest - 5).toString(16)}`, toBlock: 'latest', address: account };
    expect((await call('eth_getLogs', [filter])).result).toEqual([]);
    const sent = requests.map(({ text }) => text).filter((text) => text.startsWith('eth_getLogs'));
    expect(sent).toEqual([expect.stringContaining(`"toBlock":"0x${newest.toString(16)}"`)]);
  });

  it.each([1, 2])('gets the proven number of the newest block, with %i upstreams', async (upstreams) => {
    const nodes = Array.from({ length: upstreams }, () => ({}));
    const { call, time, head } = simulateNetwork(nodes, BLOCK_MS, { verify: 'require' });
    await call('eth_blockNumber');
    for (const ms of IDLE_MS) {
      await time.advance(ms);
      const newest = head();
      const { result, error } = await call('eth_blockNumber');
      expect(error).toBeUndefined();
      expect(Number(result)).toBe(newest);
    }
  });

  it.each([1, 2])('polls upstreams with `probe: off` if there are no others: %i', async (upstreams) => {
    const nodes = Array.from({ length: upstreams }, () => ({ upstream: { probe: 'off' } }));
    // While one of two gets the calls, the other one has no known block.
    const network = simulateNetwork(nodes, BLOCK_MS, { verify: 'require', witnesses: 1 });
    for (const ms of [0, ...IDLE_MS]) {
      await network.time.advance(ms);
      const newest = network.head();
      const { waitMs, result } = await balanceOfLatest(network);
      expect(newest - Number(result)).toBeLessThanOrEqual(MAX_AGE_BLOCKS);
      expect(waitMs).toBeLessThan(LONG_WAIT_MS);
    }
  });

  it('does not poll a standby with `probe: off`', async () => {
    const standby = { upstream: { probe: 'off', priority: 1 } };
    const network = simulateNetwork([{}, standby], BLOCK_MS, { verify: 'enforce' });
    for (const ms of IDLE_MS) {
      await balanceOfLatest(network);
      await network.time.advance(ms);
    }
    expect(network.requests.filter(({ text, node }) => text === POLL && node === 1)).toEqual([]);
  });

  it('does not wait for a slow upstream while heads are followed', async () => {
    const standby = { upstream: { priority: 1 } };
    const network = simulateNetwork([{}, standby], BLOCK_MS, { verify: 'enforce' });
    const { call, time, head, servers } = network;
    await call('eth_blockNumber');
    for (const ms of [20_000, 60_000, 100_000]) {
      await servers[1]?.fail(undefined);
      await call('eth_blockNumber');
      await time.advance(ms);
      await servers[1]?.fail({ kind: 'vanish' });
      const newest = head();
      const { waitMs, result } = await balanceOfLatest(network);
      expect(newest - Number(result)).toBeLessThanOrEqual(MAX_AGE_BLOCKS);
      expect(waitMs).toBeLessThan(LONG_WAIT_MS);
    }
  });

  it('is neither sent later nor the cause of further polls while there are many calls', async () => {
    const measure = async (verify: string): Promise<{ polls: number; maxWaitMs: number }> => {
      const { call, time, requests } = simulateNetwork([{}], BLOCK_MS, { verify });
      await call('eth_getBalance', [account, 'latest']);
      let maxWaitMs = 0;
      for (let count = 0; count < 300; count++) {
        const startedAt = time.now();
        await call('eth_getBalance', [account, 'latest']);
        const sent = requests.findLast(({ text }) => text.startsWith('eth_getBalance'));
        maxWaitMs = Math.max(maxWaitMs, (sent?.at ?? Infinity) - startedAt);
      }
      const polls = requests.filter(({ text }) => text === POLL).length;
      return { polls, maxWaitMs };
    };
    expect(await measure('enforce')).toEqual(await measure('off'));
  });
});

describe('a call for `latest` while polls of the head fail', () => {
  const state = { failPolls: false, failCalls: false };
  const fails = (text: string): boolean =>
    (state.failPolls && text === POLL) || (state.failCalls && text.startsWith('eth_getBalance'));

  it('gets proven state of the last head for a minute, then state that nothing proves', async () => {
    Object.assign(state, { failPolls: false, failCalls: false });
    const network = simulateNetwork([{ fails }, { fails }], BLOCK_MS, { verify: 'enforce' });
    const { time, head, sum } = network;
    await balanceOfLatest(network);
    const last = head();
    state.failPolls = true;
    await time.advance(40_000);
    expect(Number((await balanceOfLatest(network)).result)).toBe(last);
    expect(await sum('proof="proof"')).toBe(2);
    await time.advance(60_000);
    const newest = head();
    expect(Number((await balanceOfLatest(network)).result)).toBe(newest);
    expect(await sum('proof="proof"')).toBe(2);
  });

  it.each([20_000, 100_000])('waits for the head once, however many attempts it has: after %i ms', async (ms) => {
    Object.assign(state, { failPolls: false, failCalls: false });
    const network = simulateNetwork([{ fails }, { fails }], BLOCK_MS, { verify: 'enforce' });
    await balanceOfLatest(network);
    Object.assign(state, { failPolls: true, failCalls: true });
    await network.time.advance(ms);
    const { waitMs, attempts } = await balanceOfLatest(network);
    expect(attempts).toBe(2);
    expect(waitMs).toBeLessThan(2_000 + LONG_WAIT_MS);
  });
});

/** @returns also the time until the last attempt was sent */
async function balanceOfLatest({ time, call, requests }: SimulatedNetwork) {
  const startedAt = time.now();
  const before = requests.length;
  const { result } = await call('eth_getBalance', [account, 'latest']);
  const sent = requests.slice(before).filter(({ text }) => text.startsWith('eth_getBalance'));
  return { result, attempts: sent.length, waitMs: (sent.at(-1)?.at ?? Infinity) - startedAt };
}
