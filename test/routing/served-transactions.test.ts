import { describe, expect, it } from 'vitest';
import { body, status, type Behaviour } from '../support/behaviours.ts';
import { rpcError, type FakeNode } from '../support/fake-node.ts';
import { untilHeadsPolled, withNodes, word } from './with-nodes.ts';

const hash = `0x${'ab'.repeat(32)}`;
const hashOf = (number: string): string => `0x${number.slice(2).padStart(64, 'a')}`;
/** Block 0x11 includes the transaction. */
const block = (number: string) => ({
  number,
  hash: hashOf(number),
  parentHash: hashOf(`0x${(Number(number) - 1).toString(16)}`),
  gasLimit: '0x1c9c380',
  timestamp: '0x65000000',
  transactions: number === '0x11' ? [hash] : [],
});
const pending = { hash, blockHash: null, blockNumber: null };
/** A node wrote all its fields, and its calldata makes it a large response. */
const largePending = {
  ...{ ...pending, transactionIndex: null, from: `0x${'11'.repeat(20)}`, to: null, type: '0x0', chainId: '0x7' },
  ...{ gas: '0x5208', gasPrice: '0x1', nonce: '0x0', value: '0x0', r: '0x1', s: '0x2', v: '0x1b' },
  input: `0x${'ab'.repeat(10_000)}`,
};
const mined = { hash, blockHash: hashOf('0x11'), blockNumber: '0x11' };
const receipt = { transactionHash: hash, blockHash: hashOf('0x11'), blockNumber: '0x11', status: '0x1' };

/** Two nodes with these heads, which have been polled. */
async function twoAt(first: string, second: string) {
  const all = await withNodes(2);
  const [one, two] = all.nodes as [FakeNode, FakeNode];
  one.response('eth_getBlockByNumber', block(first));
  two.response('eth_getBlockByNumber', block(second));
  await all.request();
  await untilHeadsPolled(all);
  const find = async (method = 'eth_getTransactionByHash') => {
    const { status: code, response } = await all.send(method, [hash]);
    return code === 200 ? response.result : code;
  };
  const finds = (method = 'eth_getTransactionByHash'): number[] => all.nodes.map((node) => node.callsOf(method).length);
  return { ...all, one, two, find, finds };
}

/** The first node is at 0x12. Block 0x13 of the second one was served, which does not include the transaction. */
async function withLagging() {
  const all = await twoAt('0x12', '0x13');
  const { response } = await all.send('eth_getBlockByNumber', ['latest', false]);
  expect(response.result).toMatchObject({ number: '0x13', transactions: [] });
  return all;
}

describe('a pending transaction', () => {
  it.each([
    ['mined', mined, mined],
    ['pending', pending, pending],
    ['null', null, pending],
    ['an error: it does not find it', rpcError(-32_000, 'unknown block'), pending],
  ])('of an upstream that lags is confirmed by one at the head, which returns %s', async (_, response, expected) => {
    const { one, two, find, finds } = await withLagging();
    one.response('eth_getTransactionByHash', pending);
    two.response('eth_getTransactionByHash', response);
    expect(await find()).toMatchObject(expected);
    expect(finds()).toEqual([1, 1]);
  });

  it('of an upstream that lags is confirmed although it is large', async () => {
    const { one, two, find, finds } = await withLagging();
    one.response('eth_getTransactionByHash', largePending);
    two.response('eth_getTransactionByHash', mined);
    expect(await find()).toMatchObject(mined);
    expect(finds()).toEqual([1, 1]);
  });

  it('of an upstream that lags is 503 if the one at the head fails', async () => {
    const { one, two, find } = await withLagging();
    one.response('eth_getTransactionByHash', pending);
    two.always(status(503));
    expect(await find()).toBe(503);
  });

  it('of an upstream at the head is not confirmed', async () => {
    const { one, find, finds } = await twoAt('0x11', '0x11');
    one.response('eth_getTransactionByHash', pending);
    expect(await find()).toMatchObject(pending);
    expect(finds()).toEqual([1, 0]);
  });
});

describe.each([
  ['eth_getTransactionReceipt', null, receipt],
  ['eth_getTransactionByHash', null, mined],
  ['eth_getTransactionByHash', pending, mined],
])('a transaction of a served block, at upstreams that index blocks late: %s %j', (method, absent, present) => {
  /** Both nodes are at block 0x11, which was served. They lack its transaction for this many calls each. */
  async function indexedAfter(calls: number) {
    const all = await twoAt('0x11', '0x11');
    for (const node of all.nodes)
      node.response(method, () => (node.callsOf(method).length <= calls ? absent : present));
    const { response } = await all.send('eth_getBlockByNumber', ['latest', false]);
    expect(response.result).toMatchObject({ transactions: [hash] });
    return all;
  }

  it.each<[string, Behaviour]>([
    ['returns HTTP 503', status(503)],
    ['closes the connection', ({ response }) => void response.socket?.destroy()],
    ['returns a page', body('<html></html>')],
    ['rejects the credentials', status(401)],
  ])('is requested again from the healthy one, if the one that should confirm the null %s', async (_, behaviour) => {
    const { find, finds, two } = await indexedAfter(1);
    two.always(behaviour, method);
    expect(await find(method)).toMatchObject(present);
    expect(finds(method)[0]).toBe(2);
  });

  it('is requested again until one has it', async () => {
    const { find, finds } = await indexedAfter(1);
    expect(await find(method)).toMatchObject(present);
    expect(finds(method)).toEqual([2, 1]);
  });

  it('is 503 if none has it within a second', async () => {
    const { find, finds } = await indexedAfter(Infinity);
    expect(await find(method)).toBe(503);
    expect(finds(method)).toEqual([4, 4]);
  });
});

it.each([
  ['has the hashes of many', false, 300],
  ['has many', true, 30],
  ['flows', true, 3_000],
])('a transaction of a served block that %s is requested again until a node has it', async (_, isWhole, count) => {
  const all = await twoAt('0x11', '0x11');
  const whole = { ...largePending, ...mined, transactionIndex: '0x0', input: `0x${'ab'.repeat(500)}` };
  const others = Array.from({ length: count - 1 }, (_, index) => ({ ...whole, hash: word(index) }));
  const transactions = [...others, whole];
  for (const node of all.nodes) {
    node.response('eth_getBlockByNumber', ([, isFull]: [string, boolean]) => ({
      ...block('0x11'),
      transactions: isFull ? transactions : transactions.map((one) => one.hash),
    }));
    const method = 'eth_getTransactionReceipt';
    node.response(method, () => (node.callsOf(method).length <= 1 ? null : receipt));
  }
  const { response } = await all.send('eth_getBlockByNumber', ['latest', isWhole]);
  expect((response.result as { transactions: unknown[] }).transactions).toHaveLength(count);
  expect(await all.find('eth_getTransactionReceipt')).toMatchObject(receipt);
  expect(all.finds('eth_getTransactionReceipt')).toEqual([2, 1]);
});

it('a transaction of a served block is 503 if all upstreams return an error: they do not find it', async () => {
  const { nodes, send, find } = await twoAt('0x11', '0x11');
  await send('eth_getBlockByNumber', ['latest', false]);
  for (const node of nodes) node.response('eth_getTransactionByHash', rpcError(-32_000, 'unknown block'));
  expect(await find()).toBe(503);
});

it('a transaction of a served block that was replaced may be null', async () => {
  const { nodes, send, find, finds } = await twoAt('0x11', '0x11');
  const { response } = await send('eth_getBlockByNumber', ['latest', false]);
  expect(response.result).toMatchObject({ transactions: [hash] });
  const replacing = { ...block('0x12'), parentHash: `0x${'cd'.repeat(32)}` };
  for (const node of nodes) {
    node.response('eth_getTransactionReceipt', null);
    node.response('eth_getBlockByNumber', (params: unknown) =>
      (params as [string])[0] === '0x11' ? { ...block('0x11'), hash: replacing.parentHash } : replacing,
    );
    node.response('eth_getBlockByHash', { ...block('0x11'), hash: replacing.parentHash, transactions: [] });
  }
  await expect.poll(() => find('eth_getTransactionReceipt')).toBeNull();
  expect(Math.min(...finds('eth_getTransactionReceipt'))).toBeGreaterThan(0);
});
