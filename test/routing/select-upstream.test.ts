import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { asUsual, slow, status } from '../support/behaviours.ts';
import { rpcError } from '../support/fake-node.ts';
import { shiftClock, storageParams, untilHeadsPolled, withNodes, word, type WithNodes } from './with-nodes.ts';

const at = (block: string): readonly unknown[] => [storageParams[0], storageParams[1], block];
const pruned = rpcError(-32000, 'missing trie node 0123 (path ) state 0x0123 is not available, not found');

/** Waits until all heads are polled: the given ones, or 0x10000. */
async function withHeads(all: WithNodes, ...heads: string[]): Promise<void> {
  const { nodes, request } = all;
  const block = (number: string) => ({ number, gasLimit: '0x1c9c380', timestamp: '0x65000000', transactions: [] });
  nodes.forEach((node, index) => {
    node.response('eth_getBlockByNumber', block(heads[index] ?? '0x10000'));
  });
  await request();
  await untilHeadsPolled(all);
  for (const node of nodes) node.calls.length = 0;
}

describe('a call for a block', () => {
  it('is sent to an archive upstream first, if the state is old', async () => {
    const all = await withNodes(2, {}, {}, [{}, { archive: true }]);
    await withHeads(all);
    const old = await all.send('eth_getStorageAt', at('0x100'));
    const recent = await all.send('eth_getStorageAt', at('0xffff'));
    const newest = await all.send('eth_getStorageAt', at('latest'));
    expect([old, recent, newest].map(({ response }) => response.result)).toEqual([word(2), word(1), word(1)]);
    // Every node has the contents of blocks.
    for (const node of all.nodes) node.response('eth_getLogs', []);
    await all.send('eth_getLogs', [{ fromBlock: '0x100', toBlock: '0x101' }]);
    expect(all.nodes.map((node) => node.calls.length)).toEqual([3, 1]);
    const { value } = await readMetrics(all.gateway.address);
    expect(value('gatehouse_upstream_skipped_total', { upstream: 'node-0', reason: 'missing-block' })).toBe(1);
  });

  it('skips an upstream that did not have that or a later state, for 10 minutes', async () => {
    const clock = shiftClock();
    const all = await withNodes(2);
    await withHeads(all);
    all.nodes[0]?.response('eth_getStorageAt', pruned);
    for (const block of ['0x100', '0x100', '0x90', 'earliest']) {
      expect((await all.send('eth_getStorageAt', at(block))).response.result).toBe(word(2));
    }
    expect(all.requestCounts()).toEqual([1, 4]);
    all.nodes[0]?.response('eth_getStorageAt', word(1));
    expect((await all.send('eth_getStorageAt', at('0x101'))).response.result).toBe(word(1));
    clock.forward(600_001);
    expect((await all.send('eth_getStorageAt', at('0x100'))).response.result).toBe(word(1));
    expect(all.requestCounts()).toEqual([3, 4]);
  });

  it('records nothing if the block is new, because the node has not received it yet', async () => {
    const all = await withNodes(2);
    await withHeads(all);
    all.nodes[0]?.response('eth_getStorageAt', rpcError(-32000, 'header not found'));
    for (let times = 0; times < 2; times++) await all.send('eth_getStorageAt', at('0xfffe'));
    expect(all.requestCounts()).toEqual([2, 2]);
  });

  it('is sent to an upstream whose head is high enough', async () => {
    const all = await withNodes(2);
    await withHeads(all, '0x10000', '0x10004');
    expect((await all.send('eth_getStorageAt', at('0x10003'))).response.result).toBe(word(2));
    expect((await all.send('eth_getStorageAt', at('0x10000'))).response.result).toBe(word(1));
    expect((await all.send('eth_getStorageAt', at('latest'))).response.result).toBe(word(2));
    expect(all.requestCounts()).toEqual([1, 2]);
  });

  it('is sent to a skipped upstream as the last resort', async () => {
    const all = await withNodes(2, {}, {}, [{}, { archive: true }]);
    await withHeads(all);
    all.nodes[1]?.always(status(503));
    expect((await all.send('eth_getStorageAt', at('0x100'))).response.result).toBe(word(1));
    expect(all.requestCounts()).toEqual([1, 1]);
  });
});

describe('an upstream behind the head', () => {
  it('is skipped, but used if the other one fails', async () => {
    const all = await withNodes(2);
    await withHeads(all, '0x10000', '0x10010');
    expect(await all.request()).toMatchObject({ result: word(2) });
    all.nodes[1]?.always(status(503));
    expect(await all.request()).toMatchObject({ result: word(1) });
    expect(all.requestCounts()).toEqual([1, 2]);
  });

  it('is not skipped for a lag of seconds on a network with many blocks per second', async () => {
    const clock = shiftClock();
    const all = await withNodes(2);
    // Four blocks per second by their timestamps.
    const block = (number: number) => ({
      ...{ number: `0x${number.toString(16)}`, timestamp: `0x${Math.floor(1e9 + number / 4).toString(16)}` },
      ...{ gasLimit: '0x1c9c380', transactions: [] },
    });
    const arePolled = (times: number): boolean =>
      all.nodes.every((node) => node.callsOf('eth_getBlockByNumber').length === times);
    const measuredLag = async (): Promise<unknown> =>
      (await readMetrics(all.gateway.address)).value('gatehouse_upstream_head_lag_blocks', { upstream: 'node-0' });
    // Polled after the other one, so that the lag is measured.
    all.nodes[0]?.always(slow(50), 'eth_getBlockByNumber');
    // Not at a tag, for which an upstream is skipped if it is one block behind.
    const readOld = async (): Promise<unknown> => (await all.send('eth_getStorageAt', at('0x10000'))).response.result;
    let round = 0;
    for (const [lag, result] of [
      [0, word(1)],
      [60, word(1)],
      [70, word(2)],
    ] as const) {
      const head = 100_000 + 1_000 * round++;
      all.nodes[0]?.response('eth_getBlockByNumber', block(head - lag));
      all.nodes[1]?.response('eth_getBlockByNumber', block(head));
      await readOld();
      await eventually(() => arePolled(round));
      await eventually(async () => (await measuredLag()) === lag);
      expect(await readOld()).toBe(result);
      clock.forward(16_000);
    }
    expect(all.requestCounts()).toEqual([5, 1]);
  });

  it('is skipped if its lag is above the limit of the network file', async () => {
    const all = await withNodes(2, {}, { maxLagBlocks: 2 });
    await withHeads(all, '0x10000', '0x10002');
    expect((await all.send('eth_getStorageAt', at('0xff00'))).response.result).toBe(word(1));
    const other = await withNodes(2, {}, { maxLagBlocks: 2 });
    await withHeads(other, '0x10000', '0x10003');
    expect((await other.send('eth_getStorageAt', at('0xff00'))).response.result).toBe(word(2));
    expect([all.requestCounts(), other.requestCounts()]).toEqual([
      [1, 0],
      [0, 1],
    ]);
  });
});

describe('an upstream with limits', () => {
  it('is skipped at its rate limit, and has not failed', async () => {
    const clock = shiftClock();
    // Two requests are for the chain id and the head.
    const all = await withNodes(2, {}, {}, [{ limits: { perSecond: 0.1, burst: 4 } }]);
    for (let times = 0; times < 4; times++) await all.request();
    expect(all.requestCounts()).toEqual([2, 2]);
    const { value } = await readMetrics(all.gateway.address);
    expect(value('gatehouse_upstream_skipped_total', { upstream: 'node-0', reason: 'at-limit' })).toBe(2);
    expect(value('gatehouse_upstream_up', { upstream: 'node-0' })).toBe(1);
    clock.forward(10_001);
    expect(await all.request()).toMatchObject({ result: word(1) });
  });

  it('has no more calls in flight than its limit', async () => {
    const all = await withNodes(2, {}, {}, [{ limits: { concurrency: 2 } }]);
    await all.request();
    await untilHeadsPolled(all);
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    all.nodes[0]?.always(({ response, text }) => void released.then(() => response.writeHead(200).end(text)));
    const calls = [all.request(), all.request()];
    await eventually(() => all.requestCounts()[0] === 3);
    expect(await all.request()).toMatchObject({ result: word(2) });
    release();
    for (const call of calls) expect(await call).toMatchObject({ result: word(1) });
    expect(await all.request()).toMatchObject({ result: word(1) });
    expect(all.requestCounts()).toEqual([4, 1]);
  });

  it('is no last resort at its limit, even with another skip reason', async () => {
    const all = await withNodes(2, {}, {}, [{ limits: { concurrency: 1 } }, { archive: true }]);
    await withHeads(all);
    all.nodes[1]?.always(status(503));
    let release: () => void = () => undefined;
    all.nodes[0]?.next(
      (exchange) =>
        void (release = () => {
          asUsual(exchange);
        }),
    );
    const call = all.request();
    await eventually(() => all.requestCounts()[0] === 1);
    expect(await all.send('eth_getStorageAt', at('0x100'))).toMatchObject({ status: 503 });
    release();
    expect(await call).toMatchObject({ result: word(1) });
    expect((await all.send('eth_getStorageAt', at('0x100'))).response.result).toBe(word(1));
    expect(all.requestCounts()[0]).toBe(2);
  });

  it('causes a Retry-After of one second if only its calls in flight are limited', async () => {
    const all = await withNodes(1, {}, {}, [{ limits: { concurrency: 1 } }]);
    await all.request();
    await untilHeadsPolled(all);
    let release: () => void = () => undefined;
    all.nodes[0]?.next(
      (exchange) =>
        void (release = () => {
          asUsual(exchange);
        }),
    );
    const call = all.request();
    await eventually(() => all.requestCounts()[0] === 2);
    const body = { jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params: storageParams };
    const response = await all.gateway.post('test', JSON.stringify(body));
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '01']);
    release();
    expect(await call).toMatchObject({ result: word(1) });
    expect(all.requestCounts()).toEqual([2]);
  });

  it('causes the same error if the gas limit is needed first', async () => {
    const { nodes, send, requestCounts } = await withNodes(1, {}, {}, [{ limits: { perSecond: 0.1, burst: 2 } }]);
    nodes[0]?.next(status(503));
    await send();
    const rejected = await send('eth_estimateGas', [{ to: storageParams[0], gas: '0x5208' }]);
    expect(rejected.response.error?.message).toBe('the upstreams of this network are at their limits');
    expect(requestCounts()).toEqual([1]);
  });

  it('causes a Retry-After if there is no other upstream', async () => {
    const { gateway, send, requestCounts } = await withNodes(1, {}, {}, [{ limits: { perSecond: 0.1, burst: 3 } }]);
    await send();
    const rejected = await send();
    expect(rejected).toMatchObject({ status: 503, response: { error: { code: -32603 } } });
    expect(rejected.response.error?.message).toBe('the upstreams of this network are at their limits');
    expect(requestCounts()).toEqual([1]);
    const response = await gateway.post(
      'test',
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_gasPrice', params: [] }),
    );
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});
