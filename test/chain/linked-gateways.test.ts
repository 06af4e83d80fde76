import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { chainTopics, type ChainMessage } from '../../gateway/chain/chain-peers.ts';
import { serveSums } from '../../gateway/limits/machine-sums.ts';
import { MachineSlots } from '../../gateway/workers/machine-slots.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { shiftClock, storageParams, word } from '../routing/with-nodes.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { LinkedWorkers } from '../workers/linked-workers.ts';
import { ScriptedChain } from './scripted-chain.ts';

const workers = new LinkedWorkers();
const chain = new ScriptedChain({ from: 1_000 });
let node: FakeNode;
let gateways: readonly [TestGateway, TestGateway];

beforeAll(async () => {
  serveSums(workers.router);
  new MachineSlots(workers.router, 2).serve();
  workers.router.on('workers', () => ({ running: 2, ends: {} }));
  node = await startFakeNode({ chainId: 10 });
  node.response('eth_getBlockByNumber', () => chain.head);
  node.response('eth_blockNumber', () => chain.head.number);
  const start = (id: number): Promise<TestGateway> =>
    startGateway({ main: network(10, [node.url]) }, {}, undefined, workers.open(id));
  gateways = [await start(1), await start(2)];
});
afterAll(async () => {
  workers.go(2);
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await node.close();
});

async function latest(gateway: TestGateway, method: string): Promise<bigint> {
  const response = await gateway.call('main', method, method === 'eth_blockNumber' ? [] : ['latest', false]);
  const { result, error } = response as { result?: string | { number: string }; error?: unknown };
  expect(error).toBeUndefined();
  return BigInt(typeof result === 'string' ? result : (result?.number ?? -1));
}

const find = (gateway: TestGateway, hash: string): Promise<unknown> =>
  gateway.call('main', 'eth_getTransactionByHash', [hash]);

/**
 * The messages that a worker sends during the work, without those for polls: the topic, or the kind of an event of the chain.
 * The clock stands still: a worker that is current stays so.
 */
async function messagesOf(worker: number, work: () => Promise<unknown>): Promise<string[]> {
  const gateway = gateways[worker - 1] as TestGateway;
  await eventually(async () => (await latest(gateway, 'eth_blockNumber')) === chain.number);
  shiftClock();
  await find(gateway, word(999)); // takes slots, and makes the worker current
  const received = vi.spyOn(workers.router, 'received');
  onTestFinished(() => {
    received.mockRestore();
  });
  await work();
  const sent = received.mock.calls.flatMap(([from, message]) =>
    from === worker && message.kind === 'request' ? message : [],
  );
  return sent
    .map(({ topic, body }) => (topic === chainTopics.event ? (body as ChainMessage).event.kind : topic))
    .filter((kind) => kind !== 'used' && kind !== 'seen');
}

it('nulls cost no message between workers', async () => {
  node.response('eth_getTransactionByHash', null);
  const [, second] = gateways;
  const messages = await messagesOf(2, async () => {
    for (let call = 1; call <= 10; call++) expect(await find(second, word(call))).toMatchObject({ result: null });
  });
  expect(messages).toEqual([]);
});

it('a new head costs one message of a worker, however often it serves the head', async () => {
  const [first] = gateways;
  const messages = await messagesOf(1, async () => {
    const { number } = chain.mine();
    for (const hasTransactions of [true, true, false]) {
      const read = await first.call('main', 'eth_getBlockByNumber', ['latest', hasTransactions]);
      expect(read).toMatchObject({ result: { number } });
    }
  });
  expect(messages).toEqual(['served']);
});

it('a transaction that one worker has served is not null at another, and costs one message', async () => {
  const transaction = { hash: word(20), blockHash: word(21), blockNumber: '0x3e7' };
  node.response('eth_getTransactionByHash', null);
  const [first, second] = gateways;
  const messages = await messagesOf(1, async () => {
    node.response('eth_getTransactionByHash', transaction);
    for (let call = 0; call < 3; call++)
      expect(await find(first, transaction.hash)).toMatchObject({ result: { hash: transaction.hash } });
  });
  expect(messages).toEqual(['served']);
  // Another node behind the same URL lacks it.
  let nulls = 1;
  node.response('eth_getTransactionByHash', () => (nulls-- > 0 ? null : transaction));
  expect(await find(second, transaction.hash)).toMatchObject({ result: { hash: transaction.hash } });
  expect(nulls).toBe(-1);
});

it('the transactions of a block that one worker has served are not null at another, and cost one message', async () => {
  const transaction = { hash: word(40), blockHash: chain.head.hash, blockNumber: chain.head.number };
  node.response('eth_getTransactionByHash', null);
  node.response('eth_getBlockByNumber', () => ({ ...chain.head, transactions: [transaction.hash, word(41)] }));
  onTestFinished(() => {
    node.response('eth_getBlockByNumber', () => chain.head);
  });
  const [first, second] = gateways;
  const read = (): Promise<unknown> => first.call('main', 'eth_getBlockByNumber', [chain.head.number, false]);
  const messages = await messagesOf(1, async () => {
    for (let call = 0; call < 3; call++) expect(await read()).toMatchObject({ result: { hash: chain.head.hash } });
  });
  expect(messages).toEqual(['served']);
  let nulls = 1;
  node.response('eth_getTransactionByHash', () => (nulls-- > 0 ? null : transaction));
  expect(await find(second, transaction.hash)).toMatchObject({ result: { hash: transaction.hash } });
  expect(nulls).toBe(-1);
});

it('an old block and a transaction of it cost no message', async () => {
  const [first] = gateways;
  const transaction = { hash: word(30), blockHash: word(31), blockNumber: '0x1' };
  const messages = await messagesOf(1, async () => {
    node.response('eth_getTransactionByHash', transaction);
    expect(await find(first, transaction.hash)).toMatchObject({ result: { hash: transaction.hash } });
    const old = { ...new ScriptedChain({ from: 1 }).head, transactions: [transaction.hash] };
    node.response('eth_getBlockByNumber', ([number]: unknown[]) => (number === old.number ? old : chain.head));
    expect(await first.call('main', 'eth_getBlockByNumber', [old.number, false])).toMatchObject({ result: old });
  });
  expect(messages).toEqual([]);
});

it('a worker that hangs delays no call and no probe of the others, and returns no older block when it continues', async () => {
  const [first, second] = gateways;
  expect(await latest(second, 'eth_blockNumber')).toBe(chain.number);
  workers.stop(2);
  for (const path of ['/livez', '/metrics']) expect((await fetch(`${first.address}${path}`)).status).toBe(200);
  chain.mine();
  // The response before may be cached for a second.
  await eventually(async () => (await latest(first, 'eth_getBlockByNumber')) === chain.number);
  const served = chain.number;
  // The node lags, so that only the first worker knows the block.
  chain.goBack(1);
  let number: bigint | undefined;
  const responding = latest(second, 'eth_blockNumber').then((found) => (number = found));
  await staysTrueFor(100, () => number === undefined);
  workers.go(2);
  await responding;
  expect(number).toBe(served);
});

it('while the primary does not respond, calls for served blocks by number are served, others are 503 at their deadline', async () => {
  const time = shiftClock();
  node.response('eth_getStorageAt', word(1));
  node.response('eth_getBalance', '0x1');
  const gateway = await startGateway(
    { main: network(10, [node.url]) },
    { CALL_TIMEOUT_MS: '1000', CACHE_MAX_BYTES: '0' },
    undefined,
    workers.open(3),
  );
  onTestFinished(async () => {
    workers.go(3);
    await gateway.stop();
  });
  chain.mine(); // the node no longer lags
  const read = (block: string, method = 'eth_getStorageAt'): Promise<unknown> =>
    gateway.call('main', method, [...storageParams.slice(0, method === 'eth_getStorageAt' ? 2 : 1), block]);
  expect(await latest(gateway, 'eth_getBlockByNumber')).toBe(chain.number);
  const served = chain.head.number;
  const above = `0x${(chain.number + 1n).toString(16)}`;
  expect(await read(served)).toMatchObject({ result: word(1) });

  // It is current no more, and learns nothing from now on.
  time.forward(1_000);
  workers.stop(3);
  expect(await read(served, 'eth_getBalance')).toMatchObject({ result: '0x1' });
  expect(await read(served)).toMatchObject({ result: word(1) });
  const others = [
    ['eth_blockNumber'],
    ['eth_getStorageAt', [...storageParams.slice(0, 2), 'latest']],
    ['eth_getStorageAt', [...storageParams.slice(0, 2), above]],
    ['eth_getStorageAt', [...storageParams.slice(0, 2), { blockHash: chain.head.hash }]],
    ['eth_getLogs', [{ fromBlock: served }]],
    ['eth_getBlockByNumber', [above, false]],
    ['eth_getTransactionByHash', [word(3)]],
  ] as const;
  const responses = others.map(async ([method, params = []]) => {
    const response = await gateway.post('main', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    return [method, response.status];
  });
  expect(await Promise.all(responses)).toEqual(others.map(([method]) => [method, 503]));
});

it('while the primary does not respond, a block that other workers do not know is 503 at the deadline', async () => {
  const time = shiftClock();
  const gateway = await startGateway(
    { main: network(10, [node.url]) },
    { CALL_TIMEOUT_MS: '1000', CACHE_MAX_BYTES: '0' },
    undefined,
    workers.open(4),
  );
  onTestFinished(async () => {
    workers.go(4);
    await gateway.stop();
  });
  expect(await latest(gateway, 'eth_getBlockByNumber')).toBe(chain.number);
  // It is still current, because the clock has stopped.
  workers.stop(4);
  time.forward(1);
  chain.mine();
  const body = { jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: ['latest', false] };
  expect(await gateway.post('main', JSON.stringify(body))).toMatchObject({ status: 503 });
});

it('a probe of one of several workers ends its connection, so that the next one can go to another worker', async () => {
  for (const path of ['/livez', '/metrics', '/readyz']) {
    const response = await fetch(`${gateways[0].address}${path}`);
    await response.text();
    expect([response.status, response.headers.get('connection')]).toEqual([200, 'close']);
  }
});
