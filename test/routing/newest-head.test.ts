import { describe, expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { withoutTime } from '../support/elastic-clock.ts';
import { hang, type Behaviour } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import type { FakeNode } from '../support/fake-node.ts';
import { blockAt, withNodes, type WithNodes } from './with-nodes.ts';

const account = `0x${'11'.repeat(20)}`;
/** An upstream failure that does not open the circuit. */
const lacksBlock: Behaviour = ({ id, response }) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message: 'header not found' } }));
};

function setHead(node: FakeNode, number: string): void {
  for (const method of ['eth_blockNumber', 'eth_gasPrice', 'eth_getBalance', 'eth_estimateGas'])
    node.response(method, number);
  node.response('eth_getBlockByNumber', blockAt(number));
}

/** Requests of the gateway for the newest block. Callers of these tests request it with transactions. */
function pollsOf(node: FakeNode): number {
  return node.callsOf('eth_getBlockByNumber').filter(({ params }) => (params as unknown[])[1] === false).length;
}

interface TwoNodes extends WithNodes {
  readonly own: FakeNode;
  readonly paid: FakeNode;
  readonly resultOf: (method: string, params?: readonly unknown[]) => Promise<unknown>;
}

/** An own node and a paid fallback behind it, both polled at 0x10. The next regular poll is in two seconds. */
async function twoNodes(keys: object = {}): Promise<TwoNodes> {
  const all = await withNodes(2, {}, { failsafe: { hedgeAfterMs: 'off' }, ...keys }, [{}, { priority: 2 }]);
  const [own, paid] = all.nodes as [FakeNode, FakeNode];
  for (const node of [own, paid]) setHead(node, '0x10');
  await all.request();
  await eventually(() => pollsOf(own) === 1 && pollsOf(paid) === 1);
  await all.request();
  const resultOf = async (method: string, params: readonly unknown[] = []) =>
    (await all.send(method, params)).response.result;
  return { ...all, own, paid, resultOf };
}

/** The paid node returns block 0x11 to a caller, so that the own node is behind. */
async function serveNewer({ own, paid, resultOf }: TwoNodes): Promise<void> {
  setHead(paid, '0x11');
  own.next(lacksBlock, 'eth_getBlockByNumber');
  expect(await resultOf('eth_getBlockByNumber', ['latest', true])).toMatchObject({ number: '0x11' });
}

describe('a read of the newest block', () => {
  it.each([
    ['eth_blockNumber', []],
    ['eth_gasPrice', []],
    ['eth_estimateGas', [{ to: account }]],
    ['eth_getBalance', [account, 'latest']],
    ['eth_getBalance', [account]],
  ])('%s %j is sent to an upstream at the head, also if another is one block behind', async (method, params) => {
    const all = await twoNodes();
    await serveNewer(all);
    expect(await all.resultOf(method, params)).toBe('0x11');
    // Not only the served block: each response of the upstream at the head is newer.
    setHead(all.paid, '0x14');
    expect(await all.resultOf(method, params)).toBe('0x14');
    expect(all.own.callsOf(method)).toHaveLength(0);
  });

  it('is sent to the upstream with the newest head, if none at the head can be used', async () => {
    const all = await withNodes(3, {}, { failsafe: { hedgeAfterMs: 'off' } });
    const [lagging, next, newest] = all.nodes as [FakeNode, FakeNode, FakeNode];
    setHead(lagging, '0x10');
    setHead(next, '0x12');
    setHead(newest, '0x13');
    // No state at the newest block is served.
    await all.send('eth_getStorageAt', [account, '0x0', '0x1']);
    await eventually(() => all.nodes.every((node) => pollsOf(node) === 1));
    await all.send('eth_getStorageAt', [account, '0x0', '0x1']);
    await newest.refuse();
    const { response } = await all.send('eth_getBalance', [account, 'latest']);
    expect(response.result).toBe('0x12');
    expect(lagging.callsOf('eth_getBalance')).toHaveLength(0);
  });

  it('is sent to an own node again as soon as that has the block: it is polled first, once for all calls', async () => {
    const all = await twoNodes();
    await serveNewer(all);
    setHead(all.own, '0x11');
    const polls = pollsOf(all.own);
    const addresses = [1, 2, 3, 4, 5, 6].map((digit) => `0x${String(digit).repeat(40)}`);
    await Promise.all(addresses.map((address) => all.resultOf('eth_getBalance', [address, 'latest'])));
    expect([all.own, all.paid].map((node) => node.callsOf('eth_getBalance').length)).toEqual([6, 0]);
    expect(pollsOf(all.own)).toBe(polls + 1);
  });

  it('waits for a poll that gets no response for 300 ms at most, and other reads do not wait for it', async () => {
    const all = await twoNodes();
    await serveNewer(all);
    all.own.always(hang, 'eth_getBlockByNumber');
    const polls = pollsOf(all.own);
    const start = clock.now();
    const ended: string[] = [];
    const waiting = all.resultOf('eth_getBalance', [account, 'latest']).finally(() => ended.push('waiting'));
    await eventually(() => pollsOf(all.own) === polls + 1);
    expect(await all.resultOf('eth_getBalance', [account, '0x10'])).toBe('0x10');
    ended.push('other');
    expect(await waiting).toBe('0x11');
    expect(clock.now() - start).toBeGreaterThan(290);
    expect(ended).toEqual(['other', 'waiting']);
    await withoutTime(async () => {
      for (let reads = 0; reads < 30; reads++) {
        const address = `0x${reads.toString(16).padStart(40, '0')}`;
        expect(await all.resultOf('eth_getBalance', [address, 'latest'])).toBe('0x11');
      }
    });
  });

  it('is sent to the same upstream again after an older block, if the circuits of the others are open', async () => {
    const all = await twoNodes();
    await serveNewer(all);
    setHead(all.own, '0x11');
    expect(await all.resultOf('eth_gasPrice')).toBe('0x11');
    await all.paid.refuse();
    all.own.next(lacksBlock, 'eth_getBlockByNumber');
    await all.send('eth_getBlockByNumber', ['0x11', true]);
    const olderBlock: Behaviour = ({ id, response }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: blockAt('0x10') }));
    };
    all.own.next(olderBlock, 'eth_getBlockByNumber');
    expect(await all.resultOf('eth_getBlockByNumber', ['latest', true])).toMatchObject({ number: '0x11' });
  });

  it('causes no polls while the first upstream is at the head', async () => {
    const all = await twoNodes();
    setHead(all.own, '0x11');
    const before = [pollsOf(all.own), pollsOf(all.paid)];
    for (let calls = 0; calls < 5; calls++) expect(await all.resultOf('eth_blockNumber')).toBe('0x11');
    expect([pollsOf(all.own), pollsOf(all.paid)]).toEqual(before);
  });
});
