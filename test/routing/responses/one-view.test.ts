import { describe, expect, it } from 'vitest';
import { status } from '../../support/behaviours.ts';
import { rpcError, type FakeNode } from '../../support/fake-node.ts';
import { shiftClock, untilHeadsPolled, withNodes, word } from '../with-nodes.ts';

const hashOf = (block: number): string => `0x${block.toString(16).padStart(64, 'a')}`;
const numberOf = (block: number): string => `0x${block.toString(16)}`;
const address = `0x${'11'.repeat(20)}`;
const transaction = hashOf(0x99);
const newest = 0x13;
const raw = '0xf9';

/** Sets the responses of a node with the blocks up to `head`, each with one log. */
function setHead(node: FakeNode, head: number): void {
  const block = (number: number) => ({
    ...{ number: numberOf(number), hash: hashOf(number), parentHash: hashOf(number - 1) },
    ...{ gasLimit: '0x1c9c380', timestamp: numberOf(0x65000000 + number), transactions: [] },
  });
  const numberIn = (which: unknown): number =>
    typeof which !== 'string' ? newest : which.startsWith('0x') ? Number(which) : head;
  const none = rpcError(-32_000, 'header not found');
  const found = (number: number) => (number <= head ? block(number) : null);
  node.response('eth_blockNumber', numberOf(head));
  node.response('eth_getBlockByNumber', ([which = '']: string[]) => found(numberIn(which)));
  node.response('eth_getBlockByHash', ([hash = '']: string[]) => found(Number(`0x${hash.replace(/^0xa+/, '')}`)));
  node.response('eth_getTransactionReceipt', () =>
    head < newest
      ? null
      : { transactionHash: transaction, blockHash: hashOf(newest), blockNumber: numberOf(newest), status: '0x1' },
  );
  node.response('eth_getBalance', ([, which = '']: string[]) => (numberIn(which) <= head ? '0x7' : none));
  node.response('eth_getStorageAt', word(1));
  node.response('debug_getRawBlock', ([which = '']: string[]) => (numberIn(which) <= head ? raw : '0x'));
  // A list with gaps, as geth returns it before 1.16.
  node.response('eth_getLogs', ([{ fromBlock, toBlock }]: [{ fromBlock: string; toBlock: string }]) => {
    const [from, to] = [Number(fromBlock), Math.min(numberIn(toBlock), head)];
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => logOf(from + index));
  });
}

function logOf(block: number) {
  return { address, blockHash: hashOf(block), blockNumber: numberOf(block), logIndex: '0x0', topics: [], data: '0x' };
}

/** Two nodes with these heads, which have been polled. The newest block is served, by default. Only calls poll heads. */
async function withLagging(heads = [newest, newest - 3], { isServed = true, env = {} } = {}) {
  const clock = shiftClock({ isRunning: false });
  const all = await withNodes(
    2,
    { CACHE_MAX_BYTES: '0', ...env },
    { failsafe: { hedgeAfterMs: 'off' }, methods: ['eth', 'debug_getRawBlock'] },
  );
  heads.forEach((head, index) => {
    setHead(all.nodes[index] as FakeNode, head);
  });
  const [ahead, lagging] = (heads[0] === newest ? all.nodes : all.nodes.toReversed()) as [FakeNode, FakeNode];
  await all.request();
  await untilHeadsPolled(all);
  await all.request();
  if (isServed) await all.send('eth_getBlockByNumber', [numberOf(newest), true]);
  const call = async (method: string, ...params: unknown[]) => {
    clock.forward(100);
    const { status: httpStatus, response } = await all.send(method, params);
    return httpStatus === 200 ? (response.result ?? response.error ?? null) : httpStatus;
  };
  return { ...all, ahead, lagging, call };
}

const range = { fromBlock: numberOf(newest - 4), toBlock: numberOf(newest), address };
const logs = [0, 1, 2, 3, 4].map((index) => expect.objectContaining(logOf(newest - 4 + index)) as unknown);
const isBlock = expect.objectContaining({ number: numberOf(newest), hash: hashOf(newest) }) as unknown;
const reads: [string, unknown[], unknown][] = [
  ['eth_getBlockByNumber', ['latest', false], isBlock],
  ['eth_getBlockByNumber', [numberOf(newest), false], isBlock],
  ['eth_getBlockByHash', [hashOf(newest), false], isBlock],
  ['eth_getTransactionReceipt', [transaction], expect.objectContaining({ blockHash: hashOf(newest) })],
  ['eth_getLogs', [range], logs],
  ['eth_getLogs', [{ ...range, toBlock: 'latest' }], logs],
  ['eth_getBalance', [address, numberOf(newest)], '0x7'],
  ['eth_getBalance', [address, 'latest'], '0x7'],
  ['eth_getBalance', [address, { blockHash: hashOf(newest) }], '0x7'],
  ['eth_getTransactionCount', [address, 'pending'], '0x1'],
  ['debug_getRawBlock', [numberOf(newest)], raw],
];

describe('while the upstream with the newest served block is unreachable', () => {
  it('reads of that block are retryable errors, and others are served', async () => {
    const { ahead, lagging, call } = await withLagging();
    for (const node of [ahead, lagging]) node.response('eth_getTransactionCount', '0x1');
    await ahead.refuse();
    for (const [method, params] of reads) expect(await call(method, ...params), `${method} ${params.join()}`).toBe(503);
    expect(await call('eth_blockNumber')).toBe(numberOf(newest));
    expect(await call('eth_getBlockByNumber', numberOf(newest - 3), false)).toMatchObject({ hash: hashOf(newest - 3) });
    expect(await call('eth_getLogs', { ...range, toBlock: numberOf(newest - 3) })).toHaveLength(2);
    // The upstream that lags cannot know whether these exist.
    expect(await call('eth_getBlockByNumber', '0x5000', false)).toBe(503);
    expect(await call('eth_getBlockByHash', hashOf(0x5000), false)).toBe(503);
    expect(lagging.callsOf('eth_getLogs')).toHaveLength(1);
  });

  it.each(reads)('%s of %j is served as soon as another upstream has it', async (method, params, expected) => {
    const { ahead, lagging, call } = await withLagging();
    await ahead.refuse();
    setHead(lagging, newest);
    lagging.response('eth_getTransactionCount', '0x1');
    // Without a wait for the next poll.
    expect(await call(method, ...params)).toEqual(expected);
  });

  it('a cached block is returned', async () => {
    const { ahead, call } = await withLagging(undefined, { env: { CACHE_MAX_BYTES: '1000000' } });
    await call('eth_getBlockByHash', hashOf(newest), false);
    await ahead.refuse();
    expect(await call('eth_getBlockByHash', hashOf(newest), false)).toEqual(isBlock);
    expect(await call('eth_getBlockByNumber', numberOf(newest), true)).toEqual(isBlock);
  });
});

describe('a list of logs', () => {
  it('is requested from an upstream in its cooldown before one that lacks blocks of the range', async () => {
    const { ahead, lagging, call } = await withLagging();
    ahead.next(status(503), 'eth_getLogs');
    expect(await call('eth_getLogs', range)).toBe(503);
    expect(await call('eth_getLogs', range)).toEqual(logs);
    expect([ahead, lagging].map((node) => node.callsOf('eth_getLogs').length)).toEqual([2, 0]);
  });

  it('up to a block above the newest known one needs the newest known one', async () => {
    const { ahead, call } = await withLagging();
    await ahead.refuse();
    expect(await call('eth_getLogs', { ...range, toBlock: '0x5000' })).toBe(503);
    const caughtUp = await withLagging();
    setHead(caughtUp.lagging, newest);
    await caughtUp.ahead.refuse();
    expect(await caughtUp.call('eth_getLogs', { ...range, toBlock: '0x5000' })).toEqual(logs);
  });
});

describe('a pass-through method', () => {
  const counts = (nodes: readonly FakeNode[]): number[] =>
    nodes.map((node) => node.callsOf('debug_getRawBlock').length);

  it('is sent to an upstream at the head first', async () => {
    const { nodes, lagging, call } = await withLagging([newest - 3, newest]);
    expect(await call('debug_getRawBlock', numberOf(newest))).toBe(raw);
    expect(counts(nodes)).toEqual([0, 1]);
    // It also serves older blocks, while no other upstream can.
    await nodes[1]?.refuse();
    expect(await call('debug_getRawBlock', numberOf(newest - 3))).toBe(raw);
    expect(counts([lagging])).toEqual([1]);
  });

  it.each(['0x', null])('never has %j of an upstream that lags', async (empty) => {
    const { nodes, lagging, call } = await withLagging([newest - 3, newest], { isServed: false });
    lagging.response('debug_getRawBlock', empty);
    // An upstream at the head is first, also if no caller was served its block.
    expect(await call('debug_getRawBlock', numberOf(newest))).toBe(raw);
    expect(counts(nodes)).toEqual([0, 1]);
    nodes[1]?.always(status(503), 'debug_getRawBlock');
    expect(await call('debug_getRawBlock', numberOf(newest))).toBe(503);
    expect(counts([lagging])).toEqual([1]);
  });

  it('may have 0x from an upstream at the head', async () => {
    const { nodes, ahead, call } = await withLagging([newest, newest - 3]);
    ahead.response('debug_getRawBlock', '0x');
    expect(await call('debug_getRawBlock', numberOf(newest))).toBe('0x');
    expect(counts(nodes)).toEqual([1, 0]);
  });
});
