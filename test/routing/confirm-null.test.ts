import { describe, expect, it } from 'vitest';
import { hang, status, type Behaviour } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { rpcError, type RpcResponse } from '../support/fake-node.ts';
import { CHAIN_ID, shiftClock, untilHeadsPolled, withNodes } from './with-nodes.ts';

const hash = `0x${'ab'.repeat(32)}`;
const transaction = { hash, blockHash: `0x${'cd'.repeat(32)}`, blockNumber: '0x11' };
const head = (number: string) => ({ number, gasLimit: '0x1c9c380' });

/** Two nodes: the first returns null for a transaction that the second has. Both heads have been polled. */
async function withHeads(first: string, second: string, confirmNull?: string) {
  const all = await withNodes(2, {}, confirmNull === undefined ? {} : { verify: { nulls: confirmNull } });
  const [one, two] = all.nodes;
  if (one === undefined || two === undefined) throw new Error('there are no two nodes');
  one.response('eth_getTransactionByHash', null);
  two.response('eth_getTransactionByHash', transaction);
  one.response('eth_getBlockByNumber', head(first));
  two.response('eth_getBlockByNumber', head(second));
  await all.request();
  const polled = confirmNull === undefined ? [one, two] : [one];
  const names = confirmNull === undefined ? undefined : ['node-0'];
  await untilHeadsPolled(all, 1, names);
  expect(polled.map((node) => node.callsOf('eth_getBlockByNumber').length)).toEqual(polled.map(() => 1));
  const find = async () => (await all.send('eth_getTransactionByHash', [hash])).response.result;
  const finds = (): number[] => all.nodes.map((node) => node.callsOf('eth_getTransactionByHash').length);
  return { ...all, one, two, find, finds };
}

describe('a null', () => {
  it('of an upstream behind the network’s head is confirmed by another', async () => {
    const { find, finds } = await withHeads('0x10', '0x11');
    expect(await find()).toMatchObject(transaction);
    expect(finds()).toEqual([1, 1]);
  });

  it.each([
    ['0x11', '0x11'],
    ['0x12', '0x11'],
  ])('of an upstream at the head needs no confirmation: %s beside %s', async (first, other) => {
    const { find, finds } = await withHeads(first, other);
    expect(await find()).toBeNull();
    expect(finds()).toEqual([1, 0]);
  });

  it('of an upstream that does not have a part of the chain is confirmed by another', async () => {
    const { find, finds, one } = await withHeads('0x11', '0x11');
    one.response('eth_getTransactionByHash', rpcError(-32_000, 'transaction indexing is in progress'));
    expect(await find()).toMatchObject(transaction);
    one.response('eth_getTransactionByHash', null);
    expect(await find()).toMatchObject(transaction);
    expect(finds()).toEqual([2, 2]);
  });

  it.each([
    ['returns null too', null],
    ['does not find it', rpcError(-32_000, 'unknown block')],
  ])('stays null when the other %s', async (_, response) => {
    const { find, finds, two } = await withHeads('0x10', '0x11');
    two.response('eth_getTransactionByHash', response);
    expect(await find()).toBeNull();
    expect(finds()).toEqual([1, 1]);
  });

  // The contract: null needs evidence from an upstream at the head.
  it.each<[string, Behaviour | undefined, RpcResponse, number]>([
    // Its head is polled then, and it is asked once more.
    ['fails', status(503), null, 2],
    ['does not have a part of the chain', undefined, rpcError(4_444, 'pruned history unavailable'), 1],
    ['returns another error', undefined, rpcError(-32_099, 'something new'), 1],
  ])('of an upstream that lags is 503 when the other %s', async (_, behaviour, response, times) => {
    const { send, finds, two } = await withHeads('0x10', '0x11');
    two.response('eth_getTransactionByHash', response);
    two.always(behaviour);
    expect(await send('eth_getTransactionByHash', [hash])).toMatchObject({ status: 503 });
    expect(finds()).toEqual([1, times]);
  });

  it('of an upstream that has caught up needs no confirmation', async () => {
    const clock = shiftClock({ isRunning: true });
    const { find, finds, one, two } = await withHeads('0x10', '0x11');
    // An upstream that was polled less than 50 ms ago is not polled again.
    clock.forward(1_000);
    two.always(status(503));
    one.response('eth_getBlockByNumber', head('0x11'));
    expect(await find()).toBeNull();
    expect(finds()).toEqual([2, 1]);
  });

  it('stays null when the other fails, if it is from an upstream at the head', async () => {
    const { find, finds, send, one, two } = await withHeads('0x11', '0x11');
    one.response('eth_getTransactionByHash', rpcError(-32_000, 'transaction indexing is in progress'));
    const other = [`0x${'ef'.repeat(32)}`];
    two.response('eth_getTransactionByHash', () => ({ ...transaction, hash: other[0] }));
    expect(await send('eth_getTransactionByHash', other)).toMatchObject({ response: { result: { hash: other[0] } } });
    one.response('eth_getTransactionByHash', null);
    two.always(status(503));
    expect(await find()).toBeNull();
    expect(finds()).toEqual([2, 2]);
    // This transaction was served.
    expect(await send('eth_getTransactionByHash', other)).toMatchObject({ status: 503 });
  });

  it('is not confirmed by an upstream with an open circuit', async () => {
    const { two, finds, send, one } = await withHeads('0x10', '0x11');
    one.response('eth_getStorageAt', rpcError(4_444, 'pruned history unavailable'));
    await two.refuse();
    await send();
    await two.listen();
    two.always(hang);
    expect(await send('eth_getTransactionByHash', [hash])).toMatchObject({ status: 503 });
    expect(finds()).toEqual([1, 0]);
  });

  it('is always confirmed if the network file requires it', async () => {
    const { find, finds } = await withHeads('0x12', '0x11', 'always');
    expect(await find()).toMatchObject(transaction);
    expect(finds()).toEqual([1, 1]);
  });

  it('of an upstream at the head counts, if the other lags', async () => {
    const { find, finds, two } = await withHeads('0x12', '0x11', 'always');
    two.response('eth_getTransactionByHash', null);
    expect(await find()).toBeNull();
    expect(finds()).toEqual([1, 1]);
  });

  it('is never confirmed if the network file disables it', async () => {
    const { find, finds } = await withHeads('0x10', '0x11', 'never');
    expect(await find()).toBeNull();
    expect(finds()).toEqual([1, 0]);
  });
});

describe('eth_syncing', () => {
  const syncing = { startingBlock: '0x0', currentBlock: '0x10', highestBlock: '0x11' };

  it.each([
    ['one upstream is synced', syncing, false, false, [1, 1]],
    ['the first upstream is synced', false, syncing, false, [1, 0]],
    [
      'no upstream is synced',
      syncing,
      { ...syncing, currentBlock: '0x9' },
      { ...syncing, currentBlock: '0x9' },
      [1, 1],
    ],
  ])('if %s', async (_, first, second, expected, counts) => {
    const { one, two, send } = await withHeads('0x11', '0x11', 'never');
    one.response('eth_syncing', first);
    two.response('eth_syncing', second);
    expect((await send('eth_syncing', [])).response.result).toEqual(expected);
    expect([one, two].map((node) => node.callsOf('eth_syncing').length)).toEqual(counts);
  });
});

it('the heads of all upstreams are polled while the network is in use, once for calls at about the same time', async () => {
  const clock = shiftClock();
  const { nodes, request } = await withNodes(2);
  const polls = () => nodes.map((node) => node.callsOf('eth_getBlockByNumber').length);
  await request();
  await eventually(() => polls().join() === '1,1');
  await request();
  expect(nodes[1]?.callsOf('eth_chainId').length, `chain ${CHAIN_ID}`).toBe(1);
  clock.forward(15_100);
  await request();
  await eventually(() => polls().join() === '2,2');
});
