import { describe, expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { ScriptedChain } from '../chain/scripted-chain.ts';
import { withHeads } from '../chain/with-heads.ts';
import { status, type Behaviour } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { rpcError, type FakeNode } from '../support/fake-node.ts';
import { shiftClock, untilHeadsPolled, withNodes } from './with-nodes.ts';

const account = `0x${'11'.repeat(20)}`;
const hashOf = (number: string): string => `0x${number.slice(2).padStart(64, 'a')}`;
const block = (number: string) => ({
  number,
  hash: hashOf(number),
  parentHash: hashOf('0x1'),
  gasLimit: '0x1c9c380',
  timestamp: '0x65000000',
  transactions: [],
});
const placeIn = (number: string) => ({ blockHash: hashOf(number), blockNumber: number, transactionIndex: '0x0' });
const transaction = (number: string) => ({
  ...placeIn(number),
  ...{ hash: hashOf('0x2'), from: account, to: account, nonce: '0x0', gas: '0x5208', gasPrice: '0x1', value: '0x0' },
  ...{ type: '0x0', input: '0x', v: '0x1b', r: '0x1', s: '0x1' },
});
const receipt = (number: string) => ({
  ...placeIn(number),
  ...{ transactionHash: hashOf('0x2'), from: account, to: account, contractAddress: null, logs: [], type: '0x0' },
  ...{ gasUsed: '0x5208', cumulativeGasUsed: '0x5208', effectiveGasPrice: '0x1', status: '0x1' },
  logsBloom: `0x${'00'.repeat(256)}`,
});
/** An upstream failure that does not open the circuit. */
const lacksBlock: Behaviour = ({ id, response }) => {
  const error = { code: -32000, message: 'header not found' };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
};

/** Two nodes with these heads, which have been polled. `requestCounts` counts the requests of callers. */
async function twoAt(first: string, second: string, more: object = {}) {
  const all = await withNodes(2, {}, more);
  const [one, two] = all.nodes;
  if (one === undefined || two === undefined) throw new Error('there are no two nodes');
  const setHead = (node: FakeNode, head: string): void => {
    node.response('eth_blockNumber', head);
    node.response('eth_getBalance', head);
    node.response('eth_getLogs', []);
    node.response('eth_getBlockByNumber', (params: unknown) => found((params as [string])[0], head));
  };
  setHead(one, first);
  setHead(two, second);
  await all.request();
  await untilHeadsPolled(all);
  const requestCounts = (method: string): number[] =>
    [one, two].map((node) => node.callsOf(method).filter((call) => !isPoll(call)).length);
  const result = async (method: string, params: unknown[] = []) => (await all.send(method, params)).response.result;
  const number = async (which: string) =>
    ((await result('eth_getBlockByNumber', [which, true])) as { number: string } | null)?.number;
  return { ...all, one, two, setHead, requestCounts, result, number };
}

/** Polls request blocks without transactions; the callers of these tests request them with transactions. */
function isPoll({ params }: { params: unknown }): boolean {
  return JSON.stringify(params) === '["latest",false]';
}

function found(which: string, head: string) {
  if (!which.startsWith('0x')) return block(head);
  return Number(which) <= Number(head) ? block(which) : null;
}

describe('the newest served block', () => {
  it('is the result of eth_blockNumber when another upstream is behind', async () => {
    const { one, two, result, requestCounts } = await twoAt('0x11', '0x10');
    expect(await result('eth_blockNumber')).toBe('0x11');
    one.always(status(503));
    expect(await result('eth_blockNumber')).toBe('0x11');
    two.response('eth_blockNumber', '0x12');
    expect(await result('eth_blockNumber')).toBe('0x12');
    expect(requestCounts('eth_blockNumber')).toEqual([3, 2]);
  });

  it('directs calls for the latest and pending block, and for logs up to it, to an upstream that has it', async () => {
    const { number, result, requestCounts } = await twoAt('0x10', '0x11');
    expect(await number('latest')).toBe('0x11');
    expect(requestCounts('eth_getBlockByNumber')).toEqual([0, 1]);
    for (const tag of ['latest', 'pending']) {
      expect(await result('eth_getBalance', [account, tag])).toBe('0x11');
      await result('eth_getLogs', [{ fromBlock: '0x1', toBlock: tag, address: account }]);
    }
    await result('eth_getLogs', [{ fromBlock: '0x1', address: account }]);
    expect([...requestCounts('eth_getBalance'), ...requestCounts('eth_getLogs')]).toEqual([0, 2, 0, 3]);
    // The first upstream has the older blocks.
    expect(await result('eth_getBalance', [account, '0x10'])).toBe('0x10');
    await result('eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x10', address: account }]);
    expect([...requestCounts('eth_getBalance'), ...requestCounts('eth_getLogs')]).toEqual([1, 2, 1, 3]);
  });

  it('is fetched from the second upstream if the first returns an older block', async () => {
    const { one, two, setHead, number, requestCounts, send, gateway } = await twoAt('0x11', '0x11');
    expect(await number('latest')).toBe('0x11');
    setHead(one, '0x10');
    expect(await number('latest')).toBe('0x11');
    expect(requestCounts('eth_getBlockByNumber')).toEqual([2, 1]);
    // Its head is polled at once, because it is lower than known.
    await eventually(async () => {
      const { value } = await readMetrics(gateway.address);
      return value('gatehouse_upstream_head_block', { upstream: 'node-0' }) === 0x10;
    });
    // Both are behind now: the client must retry, until polls confirm the lower head.
    setHead(two, '0x10');
    expect(await send('eth_getBlockByNumber', ['latest', true])).toMatchObject({ status: 503 });
    expect(requestCounts('eth_getBlockByNumber')).toEqual([2, 3]);
  });

  it.each([
    ['eth_getHeaderByNumber', ['latest'], (number: string) => block(number)],
    ['eth_getBlockReceipts', ['latest'], (number: string) => [receipt(number)]],
    ['eth_getBlockReceipts', ['latest'], (number: string) => Array.from({ length: 100 }, () => receipt(number))],
    ['eth_getTransactionByBlockNumberAndIndex', ['latest', '0x0'], (number: string) => transaction(number)],
  ])('is that of %s, too', async (method, params, resultAt) => {
    const { one, two, number, send, requestCounts } = await twoAt('0x11', '0x11', {
      methods: ['eth', 'eth_getHeaderByNumber'],
    });
    expect(await number('latest')).toBe('0x11');
    one.response(method, resultAt('0x10'));
    two.response(method, resultAt('0x11'));
    const { text } = await send(method, params);
    expect(text).toContain(hashOf('0x11'));
    expect(text).not.toContain(hashOf('0x10'));
    expect(requestCounts(method)).toEqual([1, 1]);
  });

  it('does not affect calls for a block by hash', async () => {
    const { number, result, requestCounts } = await twoAt('0x10', '0x11');
    await number('latest');
    expect(await result('eth_getBalance', [account, { blockHash: hashOf('0x10') }])).toBe('0x10');
    expect(requestCounts('eth_getBalance')).toEqual([1, 0]);
  });
});

describe.each(['safe', 'finalized'])('the %s block', (tag) => {
  it('does not decrease: an upstream with an older one is asked for the served block by its number', async () => {
    const time = shiftClock();
    const { one, two, number, requestCounts } = await twoAt('0x20', '0x20');
    const tagged = (node: FakeNode, at: string): void => {
      node.response('eth_getBlockByNumber', (params: unknown) => {
        const [of] = params as [string];
        return block(of === tag ? at : of.startsWith('0x') ? of : '0x20');
      });
    };
    tagged(one, '0x8');
    tagged(two, '0x9');
    expect(await number(tag)).toBe('0x8');
    one.next(lacksBlock, 'eth_getBlockByNumber');
    expect(await number(tag)).toBe('0x9');
    expect(requestCounts('eth_getBlockByNumber')).toEqual([2, 1]);
    expect(await number(tag)).toBe('0x9');
    const params = [one, two].flatMap((node) => node.callsOf('eth_getBlockByNumber').map((call) => call.params));
    expect(params).toContainEqual(['0x9', true]);
    const [ofOne, ofTwo] = requestCounts('eth_getBlockByNumber');
    // The first upstream is behind, and is skipped for 12 s.
    expect(await number(tag)).toBe('0x9');
    expect(requestCounts('eth_getBlockByNumber')).toEqual([ofOne, (ofTwo ?? 0) + 1]);
    time.forward(12_001);
    tagged(two, '0x7');
    for (let calls = 0; calls < 4; calls++) expect(await number(tag)).toBe('0x9');
  });
});

it('logs up to the finalized block do not show that their upstream is behind: the newest of them may be older', async () => {
  const { one, number, result, requestCounts } = await twoAt('0x20', '0x20');
  const at = { blockNumber: '0x3', blockHash: hashOf('0x3'), transactionHash: hashOf('0x99'), transactionIndex: '0x0' };
  const log = { address: account, topics: [], data: '0x', logIndex: '0x0', removed: false, ...at };
  one.response('eth_getLogs', [log]);
  expect(await number('finalized')).toBe('0x20');
  expect(await result('eth_getLogs', [{ fromBlock: '0x1', toBlock: 'finalized', address: account }])).toEqual([log]);
  expect(await number('finalized')).toBe('0x20');
  expect(requestCounts('eth_getBlockByNumber')).toEqual([2, 0]);
});

describe('a served block and its objects', () => {
  const hash = hashOf('0x11');
  const inBlock = { hash: hashOf('0x99'), transactionHash: hashOf('0x99'), blockHash: hash, blockNumber: '0x11' };
  const lookups: [string, unknown[], unknown][] = [
    ['eth_getTransactionByHash', [hashOf('0x99')], inBlock],
    ['eth_getTransactionReceipt', [hashOf('0x99')], { ...inBlock, status: '0x1' }],
    ['eth_getBlockByHash', [hash, false], block('0x11')],
    ['eth_getBlockReceipts', [hash], [{ ...inBlock, status: '0x1' }]],
    ['eth_getTransactionByBlockHashAndIndex', [hash, '0x0'], { ...inBlock, transactionIndex: '0x0' }],
    ['eth_getBlockTransactionCountByHash', [hash], '0x1'],
  ];

  it('are found, although the first upstream is behind', async () => {
    const time = shiftClock();
    // Both had the same head at the last poll, and the next poll is not due yet.
    const { one, two, setHead, number, result: fetchResult, requestCounts } = await twoAt('0x10', '0x10');
    time.forward(1_300);
    setHead(two, '0x11');
    one.next(lacksBlock, 'eth_getBlockByNumber');
    expect(await number('0x11')).toBe('0x11');
    for (const [method, params, result] of lookups) {
      one.response(method, null);
      two.response(method, result);
      expect(await fetchResult(method, params), method).toEqual(
        typeof result === 'string' ? result : expect.anything(),
      );
      expect(requestCounts(method), method).toEqual([1, 1]);
    }
  });

  it('are found by number, if the upstream that returned the block does not find it any more', async () => {
    const { one, setHead, number, requestCounts } = await twoAt('0x11', '0x11');
    expect(await number('0x11')).toBe('0x11');
    setHead(one, '0x10');
    expect(await number('0x11')).toBe('0x11');
    expect(requestCounts('eth_getBlockByNumber')).toEqual([2, 1]);
    // This block was not served.
    expect(await number('0x12')).toBeUndefined();
    expect(requestCounts('eth_getBlockByNumber')).toEqual([3, 1]);
  });

  it('are found by block hash, if the upstream at the head does not find the receipts any more', async () => {
    const { one, two, result, requestCounts } = await twoAt('0x11', '0x11');
    one.response('eth_getBlockReceipts', null);
    two.response('eth_getBlockReceipts', [{ ...inBlock, status: '0x1' }]);
    expect(await result('eth_getBlockReceipts', [hash])).toEqual(expect.anything());
    expect(requestCounts('eth_getBlockReceipts')).toEqual([1, 1]);
    // This block was not served.
    expect(await result('eth_getBlockReceipts', [hashOf('0x77')])).toBeNull();
    expect(requestCounts('eth_getBlockReceipts')).toEqual([2, 1]);
  });

  it('are not confirmed if the network file has `nulls: never`', async () => {
    const { one, two, setHead, number, requestCounts, result } = await twoAt('0x10', '0x10', {
      verify: { nulls: 'never' },
    });
    setHead(two, '0x11');
    one.next(lacksBlock, 'eth_getBlockByNumber');
    expect(await number('latest')).toBe('0x11');
    one.response('eth_getBlockByHash', null);
    expect(await result('eth_getBlockByHash', [hash, false])).toBeNull();
    expect(requestCounts('eth_getBlockByHash')).toEqual([1, 0]);
  });

  // The contract: a response at `latest` is never older than a served block.
  it('are 503, if the first upstream returns an older block and the second an error', async () => {
    const { one, two, setHead, number, send } = await twoAt('0x11', '0x11');
    await number('latest');
    setHead(one, '0x10');
    two.response('eth_getBlockByNumber', rpcError(-32000, 'execution aborted (timeout = 5s)'));
    expect(await send('eth_getBlockByNumber', ['latest', true])).toMatchObject({ status: 503 });
  });
});

describe('the newest block in the view', () => {
  it('is the newest delivered block, and decreases with the agreed head', async () => {
    const { poller, nodes, upstreams, watch } = await withHeads([new ScriptedChain(), new ScriptedChain()], {
      isDevelopment: true,
    });
    expect(poller.view.newestServed).toBe(0n);
    await watch();
    expect(poller.view.newestServed).toBe(100n);
    const [first] = upstreams;
    if (first === undefined) throw new Error('there are no upstreams');
    poller.served(first, { number: 105n }, clock.now());
    for (const node of nodes) node.chain.mine(2);
    await eventually(() => poller.view.newestServed === 102n);
    const reset = new ScriptedChain({ from: 50 });
    for (const node of nodes) node.chain = reset.copy();
    await eventually(() => poller.view.newestServed === 50n, 60_000, 250);
  });
});
