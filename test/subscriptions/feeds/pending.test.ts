import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { rpcError, startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway } from '../../support/gateway.ts';
import { hashOf } from '../scripted-chain.ts';
import { openSubscriber, type Subscriber } from '../subscriber.ts';

/** A node whose pool a test fills. It has one filter with the transactions since the last poll. */
interface Pool {
  readonly node: FakeNode;
  add(...names: string[]): void;
}

const zero = `0x${'00'.repeat(32)}`;
const transaction = (hash: string): object => ({
  ...{ blockHash: null, blockNumber: null, transactionIndex: null, hash, type: '0x0', chainId: '0x7' },
  ...{ from: zero.slice(0, 42), to: null, gas: '0x5208', gasPrice: '0x1', input: '0x', nonce: '0x0', value: '0x0' },
  ...{ r: '0x1', s: '0x2', v: '0x1b' },
});

async function startPool(): Promise<Pool> {
  let waiting: string[] | undefined;
  const node = await startFakeNode({
    chainId: 7,
    responses: {
      eth_newPendingTransactionFilter: () => {
        waiting = [];
        return '0xf1';
      },
      eth_getFilterChanges: ([id]: [string]) => {
        if (waiting === undefined || id !== '0xf1') return rpcError(-32000, 'filter not found');
        return waiting.splice(0);
      },
      eth_uninstallFilter: () => {
        waiting = undefined;
        return true;
      },
      eth_getTransactionByHash: ([hash]: [string]) => (hash === hashOf('gone') ? null : transaction(hash)),
    },
  });
  return { node, add: (...names) => waiting?.push(...names.map(hashOf)) };
}

async function start(count: number): Promise<{ pools: Pool[]; subscriber: Subscriber }> {
  const pools = await Promise.all(Array.from({ length: count }, startPool));
  const urls = pools.map(({ node }) => node.url);
  const gateway = await startGateway({ seven: network(7, urls) });
  const subscriber = await openSubscriber(gateway, 'seven');
  onTestFinished(async () => {
    subscriber.caller.socket.terminate();
    await gateway.stop();
    await Promise.all(pools.map(({ node }) => node.close()));
  });
  return { pools, subscriber };
}

it('each pending transaction is delivered once to all, as hash or in full, from one filter', async () => {
  const { pools, subscriber } = await start(1);
  const [pool] = pools as [Pool];
  const [hashes, sameHashes, full] = [
    await subscriber.subscribe('newPendingTransactions'),
    await subscriber.subscribe('newPendingTransactions', false),
    await subscriber.subscribe('newPendingTransactions', true),
  ];
  pool.add('a', 'gone', 'b', 'a');
  await eventually(() => hashes.length >= 3 && full.length >= 2);
  pool.add('b', 'c');
  await eventually(() => hashes.length >= 4 && full.length >= 3);
  expect(hashes).toEqual(['a', 'gone', 'b', 'c'].map(hashOf));
  expect(sameHashes).toEqual(hashes);
  expect(full).toEqual(['a', 'b', 'c'].map((name) => transaction(hashOf(name))));
  expect(pool.node.callsOf('eth_newPendingTransactionFilter')).toHaveLength(1);
  for (const id of subscriber.notifications.keys()) await subscriber.call('eth_unsubscribe', [id]);
  await eventually(() => pool.node.callsOf('eth_uninstallFilter').length === 1);
});

it('a large transaction that is mined meanwhile is delivered in full, with the fields that the node omits', async () => {
  const { pools, subscriber } = await start(1);
  const [pool] = pools as [Pool];
  const mined = { blockHash: hashOf('block'), blockNumber: '0x4', transactionIndex: '0x0', v: undefined };
  const sent = { ...transaction(hashOf('large')), ...mined, input: `0x${'ab'.repeat(10_000)}` };
  pool.node.response('eth_getTransactionByHash', sent);
  const full = await subscriber.subscribe('newPendingTransactions', true);
  pool.add('large');
  await eventually(() => full.length === 1);
  expect(full).toEqual([{ ...sent, v: null }]);
});

it('another upstream takes over after a failure, and transactions of both are delivered once', async () => {
  const { pools, subscriber } = await start(2);
  const [first, second] = pools as [Pool, Pool];
  const hashes = await subscriber.subscribe('newPendingTransactions');
  first.add('a', 'b');
  await eventually(() => hashes.length === 2);
  await first.node.refuse();
  await eventually(() => second.node.callsOf('eth_newPendingTransactionFilter').length === 1);
  second.add('b', 'c');
  await eventually(() => hashes.length >= 3);
  expect(hashes).toEqual(['a', 'b', 'c'].map(hashOf));
  // The first one takes over again when the second loses its filter.
  await first.node.listen();
  second.node.response('eth_getFilterChanges', rpcError(-32000, 'filter not found'));
  await eventually(() => first.node.callsOf('eth_newPendingTransactionFilter').length === 2);
  first.add('c', 'd');
  await eventually(() => hashes.length >= 4);
  expect(hashes).toEqual(['a', 'b', 'c', 'd'].map(hashOf));
});

it('subscribing fails if no upstream provides pending transactions', async () => {
  const { pools, subscriber } = await start(1);
  pools[0]?.node.response('eth_newPendingTransactionFilter', rpcError(-32601, 'no such method'));
  const { error } = await subscriber.call('eth_subscribe', ['newPendingTransactions']);
  expect(error).toEqual({ code: -32603, message: 'no upstream provides pending transactions' });
  pools[0]?.node.response('eth_newPendingTransactionFilter', '0xf1');
  expect((await subscriber.call('eth_subscribe', ['newPendingTransactions'])).error).toBeUndefined();
});
