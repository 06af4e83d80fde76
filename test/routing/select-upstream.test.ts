import { describe, expect, it } from 'vitest';
import { eventually } from '../auth/eventually.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { asUsual, slow, status } from '../support/behaviours.ts';
import { rpcError } from '../support/fake-node.ts';
import { shiftClock, storageParams, until, withNodes, word, type WithNodes } from './with-nodes.ts';

const at = (block: string): readonly unknown[] => [storageParams[0], storageParams[1], block];
const pruned = rpcError(-32000, 'missing trie node 0123 (path ) state 0x0123 is not available, not found');

/** Both heads are seen: of the first node at 0x10000, of the others as given. */
async function withHeads({ nodes, request }: WithNodes, ...heads: string[]): Promise<void> {
  const block = (number: string) => ({ number, gasLimit: '0x1c9c380', timestamp: '0x65000000', transactions: [] });
  nodes.forEach((node, index) => {
    node.response('eth_getBlockByNumber', block(heads[index] ?? '0x10000'));
  });
  await request();
  await until(() => nodes.every((node) => node.callsOf('eth_getBlockByNumber').length > 0));
  // The gateway has read them when this is answered.
  await request();
  for (const node of nodes) node.calls.length = 0;
}

describe('a call for a block', () => {
  it('goes to an archive at once, where there is one and the state is old', async () => {
    const all = await withNodes(2, {}, {}, [{}, { archive: true }]);
    await withHeads(all);
    const old = await all.send('eth_getStorageAt', at('0x100'));
    const recent = await all.send('eth_getStorageAt', at('0xffff'));
    const newest = await all.send('eth_getStorageAt', at('latest'));
    expect([old, recent, newest].map(({ response }) => response.result)).toEqual([word(2), word(1), word(1)]);
    // What is in a block every node has.
    for (const node of all.nodes) node.response('eth_getLogs', []);
    await all.send('eth_getLogs', [{ fromBlock: '0x100', toBlock: '0x101' }]);
    expect(all.nodes.map((node) => node.calls.length)).toEqual([3, 1]);
    const { value } = await readMetrics(all.gateway.address);
    expect(value('gatehouse_upstream_skipped_total', { upstream: 'node-0', reason: 'missing-block' })).toBe(1);
  });

  it('goes elsewhere once an upstream has said that it lacks it, or a later one, and comes back after a while', async () => {
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

  it('teaches nothing where the block is new: the node has not heard of it yet', async () => {
    const all = await withNodes(2);
    await withHeads(all);
    all.nodes[0]?.response('eth_getStorageAt', rpcError(-32000, 'header not found'));
    for (let times = 0; times < 2; times++) await all.send('eth_getStorageAt', at('0xfffe'));
    expect(all.requestCounts()).toEqual([2, 2]);
  });

  it('goes to one that has come so far', async () => {
    const all = await withNodes(2);
    await withHeads(all, '0x10000', '0x10004');
    expect((await all.send('eth_getStorageAt', at('0x10003'))).response.result).toBe(word(2));
    expect((await all.send('eth_getStorageAt', at('0x10000'))).response.result).toBe(word(1));
    expect((await all.send('eth_getStorageAt', at('latest'))).response.result).toBe(word(1));
    expect(all.requestCounts()).toEqual([2, 1]);
  });

  it('is asked all the same of one that lacks it when nobody else can answer', async () => {
    const all = await withNodes(2, {}, {}, [{}, { archive: true }]);
    await withHeads(all);
    all.nodes[1]?.always(status(503));
    expect((await all.send('eth_getStorageAt', at('0x100'))).response.result).toBe(word(1));
    expect(all.requestCounts()).toEqual([1, 1]);
  });
});

describe('an upstream out of step with the head', () => {
  it('is passed over, and is better than one that does not answer', async () => {
    const all = await withNodes(2);
    await withHeads(all, '0x10000', '0x10010');
    expect(await all.request()).toMatchObject({ result: word(2) });
    all.nodes[1]?.always(status(503));
    expect(await all.request()).toMatchObject({ result: word(1) });
    expect(all.requestCounts()).toEqual([1, 2]);
  });

  it('is not one that is seconds behind on a network with many blocks a second', async () => {
    const clock = shiftClock();
    const all = await withNodes(2);
    // Four blocks a second, as the clock of the blocks has it.
    const block = (number: number) => ({
      ...{ number: `0x${number.toString(16)}`, timestamp: `0x${Math.floor(1e9 + number / 4).toString(16)}` },
      ...{ gasLimit: '0x1c9c380', transactions: [] },
    });
    const looks = (times: number): boolean =>
      all.nodes.every((node) => node.callsOf('eth_getBlockByNumber').length === times);
    const lag = async (): Promise<unknown> =>
      (await readMetrics(all.gateway.address)).value('gatehouse_upstream_head_lag_blocks', { upstream: 'node-0' });
    // Heard of after the other one, so that it is seen to be behind.
    all.nodes[0]?.always(slow(50), 'eth_getBlockByNumber');
    let round = 0;
    for (const [behind, says] of [
      [0, word(1)],
      [60, word(1)],
      [70, word(2)],
    ] as const) {
      const head = 100_000 + 1_000 * round++;
      all.nodes[0]?.response('eth_getBlockByNumber', block(head - behind));
      all.nodes[1]?.response('eth_getBlockByNumber', block(head));
      await all.request();
      await until(() => looks(round));
      await eventually(async () => (await lag()) === behind, 2_000);
      expect(await all.request()).toMatchObject({ result: says });
      clock.forward(16_000);
    }
    expect(all.requestCounts()).toEqual([5, 1]);
  });

  it('is one that is further behind than the network’s file allows', async () => {
    const all = await withNodes(2, {}, { maxLagBlocks: 2 });
    await withHeads(all, '0x10000', '0x10002');
    expect(await all.request()).toMatchObject({ result: word(1) });
    const other = await withNodes(2, {}, { maxLagBlocks: 2 });
    await withHeads(other, '0x10000', '0x10003');
    expect(await other.request()).toMatchObject({ result: word(2) });
    expect([all.requestCounts(), other.requestCounts()]).toEqual([
      [1, 0],
      [0, 1],
    ]);
  });
});

describe('an upstream with limits', () => {
  it('is passed over at its rate, and not held to have failed', async () => {
    const clock = shiftClock();
    // Two for looking at its chain id and its head.
    const all = await withNodes(2, {}, {}, [{ limits: { perSecond: 0.1, burst: 4 } }]);
    for (let times = 0; times < 4; times++) await all.request();
    expect(all.requestCounts()).toEqual([2, 2]);
    const { value } = await readMetrics(all.gateway.address);
    expect(value('gatehouse_upstream_skipped_total', { upstream: 'node-0', reason: 'at-limit' })).toBe(2);
    expect(value('gatehouse_upstream_up', { upstream: 'node-0' })).toBe(1);
    clock.forward(10_001);
    expect(await all.request()).toMatchObject({ result: word(1) });
  });

  it('has no more than so many calls under way', async () => {
    const all = await withNodes(2, {}, { hedge: 'off' }, [{ limits: { concurrency: 2 } }]);
    await all.request();
    await until(() => all.nodes.every((node) => node.callsOf('eth_getBlockByNumber').length > 0));
    let letGo: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => (letGo = resolve));
    all.nodes[0]?.always(({ response, text }) => void gone.then(() => response.writeHead(200).end(text)));
    const calls = [all.request(), all.request()];
    await until(() => all.requestCounts()[0] === 3);
    expect(await all.request()).toMatchObject({ result: word(2) });
    letGo();
    for (const call of calls) expect(await call).toMatchObject({ result: word(1) });
    expect(await all.request()).toMatchObject({ result: word(1) });
    expect(all.requestCounts()).toEqual([4, 1]);
  });

  it('is no last resort at its limit: what it lacks besides is no reason to overrun it', async () => {
    const all = await withNodes(2, {}, { hedge: 'off' }, [{ limits: { concurrency: 1 } }, { archive: true }]);
    await withHeads(all);
    all.nodes[1]?.always(status(503));
    let letGo: () => void = () => undefined;
    all.nodes[0]?.next(
      (exchange) =>
        void (letGo = () => {
          asUsual(exchange);
        }),
    );
    const call = all.request();
    await until(() => all.requestCounts()[0] === 1);
    expect(await all.send('eth_getStorageAt', at('0x100'))).toMatchObject({ status: 503 });
    letGo();
    expect(await call).toMatchObject({ result: word(1) });
    expect((await all.send('eth_getStorageAt', at('0x100'))).response.result).toBe(word(1));
    expect(all.requestCounts()[0]).toBe(2);
  });

  it('has the caller come again in a second, where only its calls under way are limited', async () => {
    const all = await withNodes(1, {}, {}, [{ limits: { concurrency: 1 } }]);
    await all.request();
    await until(() => all.nodes[0]?.callsOf('eth_getBlockByNumber').length === 1);
    let letGo: () => void = () => undefined;
    all.nodes[0]?.next(
      (exchange) =>
        void (letGo = () => {
          asUsual(exchange);
        }),
    );
    const call = all.request();
    await until(() => all.requestCounts()[0] === 2);
    const body = { jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params: storageParams };
    const response = await all.gateway.post('test', JSON.stringify(body));
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '01']);
    letGo();
    expect(await call).toMatchObject({ result: word(1) });
    expect(all.requestCounts()).toEqual([2]);
  });

  it('has the caller come again, too, where what a block may hold was to be learned first', async () => {
    const { nodes, send } = await withNodes(1, {}, {}, [{ limits: { perSecond: 0.1, burst: 2 } }]);
    nodes[0]?.next(status(503));
    await send();
    const rejected = await send('eth_estimateGas', [{ to: storageParams[0], gas: '0x5208' }]);
    expect(rejected.response.error?.message).toBe('the upstreams of this network are at their limits');
    expect(nodes[0]?.calls.map(({ method }) => method)).toEqual(['eth_chainId', 'eth_getStorageAt']);
  });

  it('has the caller come again, where there is no other one', async () => {
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
