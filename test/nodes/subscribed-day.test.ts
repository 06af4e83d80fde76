import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { fetchResult, httpEndpoint, openWebSocketEndpoint, type RpcEndpoint } from '../parity/rpc-endpoint.ts';
import { socketUrl } from '../server/websocket/caller.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { readTable, writeTable } from '../support/page-table.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { blocksAbove, logIdentity, quantity, type DayBlock } from './day/day-block.ts';
import { findGeth, GETH_VERSION } from './find-geth.ts';
import { DaySubscriber } from './subscribed/day-subscriber.ts';
import { DayTransactions, logLoop, types } from './subscribed/day-transactions.ts';
import { ExpectedDay, type Losses } from './subscribed/expected-day.ts';
import { CHAIN_ID, startSubscribedChain, type SubscribedChain } from './subscribed/subscribed-chain.ts';

const page = join(packageRoot, 'docs/parity.md');
const LOGS = 14_000;
const BLOCK_MS = 1_000;
const BIG_RESPONSE_BYTES = 16_000_000;
/** The gateway has no other node than the one that was killed. */
const RECOVERY_MS = 60_000;
const none: Losses = { doubled: 0, missing: 0, stale: 0 };

let subscribed: SubscribedChain;
let gateway: TestGateway;
let transactions: DayTransactions;
let expected: ExpectedDay;
/** Through the gateway, then at the node. */
let subscribers: readonly DaySubscriber[] = [];
let endpoints: readonly RpcEndpoint[] = [];
let sent = 0;

const direct = (): DaySubscriber => subscribers.at(-1) as DaySubscriber;
const gatewaySubscribers = (): readonly DaySubscriber[] => subscribers.slice(0, -1);

/** Sends a transaction through the gateway, over HTTP and WebSocket by turns. */
async function send(type: (typeof types)[number], logs: number): Promise<string> {
  const raw = await transactions.sign(type, logs);
  return fetchResult<string>(endpoints[sent++ % endpoints.length] as RpcEndpoint, 'eth_sendRawTransaction', raw);
}

/** Sends a transaction whose hash all subscribers have to get. */
async function sendExpected(type: (typeof types)[number], logs: number): Promise<string> {
  const hash = await send(type, logs);
  expected.pending.add(hash);
  return hash;
}

/** Builds a block of the node's pool. @param raws undefined: the transactions of the pool */
async function build(logs: number, raws?: DayBlock['transactions']): Promise<DayBlock> {
  const { chain, node } = subscribed;
  await chain.build(raws);
  const { head } = chain;
  const own = await fetchResult<Record<string, unknown>[]>(node.rpc, 'eth_getLogs', { blockHash: head.hash });
  expect(own.length, `logs of block ${head.number}`).toBe(logs);
  expected.logs.set(head, own.map(logIdentity));
  await scenarioPause(BLOCK_MS);
  return head;
}

const losses = (of: readonly DaySubscriber[]): Record<string, Losses> =>
  Object.fromEntries(of.map((one) => [one.name, expected.lossesOf(one, subscribed.chain.head)]));

/** Waits until the subscribers of the gateway have everything, and shows what they lack otherwise. */
async function untilDelivered(): Promise<void> {
  const wanted = Object.fromEntries(gatewaySubscribers().map(({ name }) => [name, none]));
  const isDelivered = (): boolean => JSON.stringify(losses(gatewaySubscribers())) === JSON.stringify(wanted);
  await eventually(isDelivered, RECOVERY_MS).catch(() => undefined);
  expect(losses(gatewaySubscribers())).toEqual(wanted);
}

describe(`subscribers of a geth ${GETH_VERSION}`, () => {
  beforeAll(async () => {
    subscribed = await startSubscribedChain(findGeth());
    const { node, chain } = subscribed;
    transactions = new DayTransactions(CHAIN_ID, node.rpc);
    await chain.build([]);
    const upstream = { name: 'node', url: node.url };
    gateway = await startGateway({
      pushed: { name: 'Pushed', chainId: CHAIN_ID, upstreams: [{ ...upstream, websocketUrl: node.socketUrl }] },
      polled: { name: 'Polled', chainId: CHAIN_ID, upstreams: [upstream] },
    });
    const names = { pushed: 'through the gateway', polled: 'through the gateway, from a node without WebSocket' };
    const open = Object.entries(names).map(([slug, name]) => DaySubscriber.open(name, socketUrl(gateway, slug)));
    subscribers = await Promise.all([...open, DaySubscriber.open('at the node', node.socketUrl)]);
    endpoints = [
      httpEndpoint('HTTP', gateway.url('pushed')),
      await openWebSocketEndpoint('WebSocket', socketUrl(gateway, 'pushed')),
    ];
    expected = new ExpectedDay(chain.head);
  });
  afterAll(async () => {
    for (const endpoint of endpoints) endpoint.close();
    for (const subscriber of subscribers) subscriber.close();
    await gateway.stop();
    await subscribed.stop();
  });

  it('transactions of every type', async () => {
    for (let round = 0; round < 2; round++) {
      const hashes = [];
      for (const type of types) hashes.push(await sendExpected(type, 2));
      await build(types.length * 2);
      for (const [index, hash] of hashes.entries()) {
        for (const method of ['eth_getTransactionByHash', 'eth_getTransactionReceipt']) {
          const own = await subscribed.node.rpc.request(method, [hash]);
          expect(own).toContain(`"type":"0x${index}"`);
          for (const endpoint of endpoints) expect(await endpoint.request(method, [hash])).toBe(own);
        }
      }
    }
    await untilDelivered();
  });

  it('blocks of 14,000 logs, and responses above 16 MB', async () => {
    for (let round = 0; round < 3; round++) {
      await sendExpected('eip1559', LOGS);
      await build(LOGS);
    }
    const { node, chain } = subscribed;
    const range = { fromBlock: quantity(chain.head.number - 2), toBlock: quantity(chain.head.number) };
    const params = [{ ...range, address: logLoop.address }];
    const own = await node.rpc.request('eth_getLogs', params);
    expect(own.length).toBeGreaterThan(BIG_RESPONSE_BYTES);
    for (const endpoint of endpoints) {
      // Not `toBe`, which would print them.
      expect((await endpoint.request('eth_getLogs', params)) === own, endpoint.name).toBe(true);
    }
    await untilDelivered();
  });

  it.each([1, 6])('debug_setHead by %i, and other blocks', async (count) => {
    const { chain } = subscribed;
    for (let block = 0; block < count; block++) {
      await sendExpected('legacy', 3);
      await build(3);
    }
    if (count === 1) {
      await sendExpected('eip1559', LOGS);
      await build(LOGS);
    }
    await untilDelivered();
    const replaced = blocksAbove(chain.head, chain.head.number - count);
    await chain.setHeadBack(count);
    await scenarioPause(BLOCK_MS);
    await build(0, []);
    const again = replaced.flatMap((block) => block.transactions);
    await build(replaced.flatMap((block) => expected.logs.get(block) ?? []).length, again);
    for (let block = 1; block < count; block++) await build(0, []);
    await untilDelivered();
    const removed = expected.removedLogs(chain.head).sort();
    expect(replaced.flatMap((block) => expected.logs.get(block) ?? []).every((log) => removed.includes(log))).toBe(
      true,
    );
    for (const { name, removed: came } of gatewaySubscribers()) {
      expect(came.size, name).toBe(removed.length);
      expect(
        removed.every((log) => came.has(log)),
        name,
      ).toBe(true);
    }
  });

  it('geth is killed, and starts again', async () => {
    const { chain, node } = subscribed;
    await node.stop('SIGKILL');
    await scenarioPause(2 * BLOCK_MS);
    const { head } = chain;
    await node.startAgain(chain.blocks);
    // The consensus client sends the blocks that geth had not written to its disk.
    await node.follow(head);
    for (let block = 0; block < 3; block++) {
      await eventually(
        () =>
          send('legacy', 3).then(
            () => true,
            () => false,
          ),
        RECOVERY_MS,
      );
      await build(3);
    }
    await untilDelivered();
    await sendExpected('eip1559', 2);
    await build(2);
    await untilDelivered();
  });

  it('docs/parity.md has the same table', () => {
    const columns = ['heads', 'logs', 'removed logs', 'pending transactions'];
    const rows = [
      ['subscriber', ...columns, 'doubled', 'missing', 'stale', 'disconnected'],
      ...subscribers.map((one) => {
        const { doubled, missing, stale } = expected.lossesOf(one, subscribed.chain.head);
        const pending = [...expected.pending].filter((hash) => one.pending.has(hash)).length;
        const counts = [one.heads.size, one.logs.size, one.removed.size, pending];
        return [one.name, ...[...counts, doubled, missing, stale, one.disconnects].map(String)];
      }),
    ];
    if (process.env['WRITE_DOCS'] === 'yes') writeTable(page, 'subscribed', rows, 'npm run test:all -- nodes --write');
    const [heading, ...served] = readTable(page, 'subscribed');
    expect([heading, ...served.slice(0, -1)]).toEqual(rows.slice(0, -1));
    expect(gatewaySubscribers().map(({ disconnects }) => disconnects)).toEqual([0, 0]);
    // What the node loses depends on when a subscriber connects again.
    expect(served.at(-1)?.[0]).toBe(direct().name);
    expect(expected.lossesOf(direct(), subscribed.chain.head)).not.toEqual(none);
  });
});
