import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { callLocalNode } from '../../local-chain/local-node.ts';
import { encodeHeader } from '../../gateway/verify/proofs/check-header.ts';
import { hashOf, quantityOf } from '../../gateway/verify/proofs/hex.ts';
import { openSubscriber, type Subscriber } from '../subscriptions/subscriber.ts';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { eventually } from '../support/eventually.ts';
import { inLongRun } from '../support/long-run.ts';
import type { Lie, LyingNode } from './lying-node.ts';
import { withVerification } from './with-verification.ts';

const CHAIN_ID = 1338;
const limit = { timeout: 120_000 };
let anvil: Anvil;

beforeAll(async () => {
  anvil = await startAnvil({ chainId: CHAIN_ID });
});
afterAll(() => anvil.stop());

type Json = Readonly<Record<string, unknown>>;
type Levels = Readonly<{ network?: string; key?: string }>;

const ask = (method: string, ...params: unknown[]): Promise<unknown> => callLocalNode(anvil.url, method, params);

/** Mines a block with a log of the counter. @returns its logs, as a notification has them */
async function mineLog(): Promise<Json[]> {
  const { caller, counter } = anvil.chain;
  const hash = await ask('eth_sendTransaction', { from: caller, to: counter.address, data: counter.calls.set });
  let receipt: Json | null = null;
  await eventually(async () => (receipt = (await ask('eth_getTransactionReceipt', hash)) as Json | null) !== null);
  return (receipt as unknown as { logs: Json[] }).logs;
}

interface Open {
  readonly nodes: readonly LyingNode[];
  readonly subscriber: Subscriber;
}

/** A subscriber of a gateway with three upstreams, of which the first one may lie. */
async function open({ network = 'off', key }: Levels): Promise<Open> {
  const { gateway, nodes } = await withVerification(CHAIN_ID, [anvil.url, anvil.url, anvil.url], {
    verify: network,
  });
  const own = makeKey();
  const permissions = key === undefined ? {} : { verify: key };
  await gateway.gateway.keys.add(digestOf(own), { name: 'own', createdAt: new Date().toISOString(), permissions });
  const subscriber = await openSubscriber(gateway, 'test', own);
  onTestFinished(() => {
    subscriber.caller.socket.terminate();
  });
  return { nodes, subscriber };
}

/** A notification stream over a filter that is polled. */
async function poll(subscriber: Subscriber, method: string, ...params: unknown[]): Promise<(all: number) => unknown> {
  const { result: id } = await subscriber.call(method, params);
  const all: unknown[] = [];
  return async (count) => {
    await eventually(async () => {
      all.push(...((await subscriber.call('eth_getFilterChanges', [id])).result as unknown[]));
      return all.length >= count;
    });
    return all;
  };
}

/** A node that forges a block on each head of the chain, with its true hash. */
function forgeHeads(node: LyingNode): { isForged: (hash: unknown) => boolean } {
  const forged = new Map<string, Json>();
  const forge = (head: Json): Json => {
    const number = quantityOf(BigInt(String(head['number'])) + 1n);
    const header = {
      ...head,
      number,
      parentHash: head['hash'],
      timestamp: quantityOf(BigInt(String(head['timestamp'])) + 1n),
      transactions: [],
    };
    const hash = hashOf(encodeHeader(header) as Uint8Array);
    forged.set(hash, { ...header, hash });
    return { ...header, hash };
  };
  node.lie('eth_getBlockByNumber', async (block: Json | null, [named], askNode) => {
    const head = (await askNode('eth_getBlockByNumber', ['latest', false])) as Json;
    const isNext = named === 'latest' || named === quantityOf(BigInt(String(head['number'])) + 1n);
    return isNext ? forge(head) : block;
  });
  node.lie('eth_getBlockByHash', (block: Json | null, [hash]) => block ?? forged.get(String(hash)) ?? null);
  node.lie('eth_blockNumber', (number: string) => quantityOf(BigInt(number) + 1n));
  return { isForged: (hash) => forged.has(String(hash)) };
}

const blockMethods = ['eth_getBlockByNumber', 'eth_getBlockByHash'];
const places: readonly Levels[] = [{ network: 'enforce' }, { key: 'require' }];
const everywhere = inLongRun([...places, { network: 'require' }], places);

const lies: readonly (readonly [string, Lie])[] = [
  ['alters the data of logs', (logs: Json[]) => logs.map((log) => ({ ...log, data: `0x${'7'.padStart(64, '0')}` }))],
  ['invents logs', (logs: Json[]) => logs.flatMap((log) => [log, { ...log, logIndex: '0x7' }])],
  [
    'moves logs to another transaction',
    (logs: Json[]) => logs.map((log) => ({ ...log, transactionHash: log['blockHash'] })),
  ],
  ['says that logs were removed', (logs: Json[]) => logs.map((log) => ({ ...log, removed: true }))],
];

describe.each(everywhere)('with %j', limit, (levels) => {
  it.each(lies)('subscribers and filters get true logs of an upstream that %s', async (_, lie) => {
    const { nodes, subscriber } = await open(levels);
    const { address } = anvil.chain.counter;
    nodes[0]?.lie('eth_getLogs', lie);
    const [logs, same] = [
      await subscriber.subscribe('logs', { address }),
      await subscriber.subscribe('logs', { address }),
    ];
    const changes = await poll(subscriber, 'eth_newFilter', { address });
    const truth = [...(await mineLog()), ...(await mineLog())];
    await eventually(() => logs.length >= truth.length);
    expect(logs).toMatchObject(truth);
    expect(await changes(truth.length)).toMatchObject(truth);
    expect(same).toEqual(logs);
    // Once for all.
    const requested = nodes.flatMap(({ methods }) => methods.filter((method) => method === 'eth_getBlockReceipts'));
    expect(requested).toHaveLength(2);
  });

  it('subscribers and filters get headers that have their hash from an upstream that alters them', async () => {
    const { nodes, subscriber } = await open(levels);
    const alter: Lie = (block: Json | null) => block && { ...block, gasUsed: '0x7', stateRoot: `0x${'77'.repeat(32)}` };
    for (const method of blockMethods) nodes[0]?.lie(method, alter);
    const heads = (await subscriber.subscribe('newHeads')) as Json[];
    for (let mined = 0; mined < 2; mined++) await mineLog();
    await eventually(() => heads.length >= 2);
    for (const { hash, gasUsed, stateRoot } of heads)
      expect(await ask('eth_getBlockByHash', hash, false)).toMatchObject({ gasUsed, stateRoot });
  });

  it('a header has the members that its hash proves, and with `require` no others', async () => {
    const { nodes, subscriber } = await open(levels);
    const add: Lie = (block: Json | null) =>
      block && { ...block, author: `0x${'77'.repeat(20)}`, l1BlockNumber: '0x7' };
    for (const node of nodes) for (const method of blockMethods) node.lie(method, add);
    const heads = (await subscriber.subscribe('newHeads')) as Json[];
    await mineLog();
    await eventually(() => heads.length >= 1);
    const isRequired = Object.values(levels).includes('require');
    expect(Object.keys(heads[0] ?? {}).includes('author')).toBe(!isRequired);
    expect(heads[0]).toMatchObject({
      stateRoot: expect.any(String) as unknown,
      withdrawalsRoot: expect.anything() as unknown,
    });
    expect('l1BlockNumber' in (heads[0] ?? {})).toBe(!isRequired);
  });

  it('subscribers and filters get no block that one upstream forges on the head', async () => {
    const { nodes, subscriber } = await open(levels);
    const { isForged } = forgeHeads(nodes[0] as LyingNode);
    const heads = (await subscriber.subscribe('newHeads')) as Json[];
    const changes = await poll(subscriber, 'eth_newBlockFilter');
    for (let mined = 0; mined < 3; mined++) {
      await mineLog();
      await eventually(() => heads.length > mined);
    }
    expect(heads.filter(({ hash }) => isForged(hash))).toEqual([]);
    expect(((await changes(3)) as unknown[]).filter(isForged)).toEqual([]);
  });

  it('a reorg repeats the true logs of the blocks that it removes', async () => {
    const { nodes, subscriber } = await open(levels);
    nodes[0]?.lie('eth_getLogs', lies[0]?.[1]);
    const { address } = anvil.chain.counter;
    const logs = await subscriber.subscribe('logs', { address });
    const snapshot = await ask('evm_snapshot');
    const [log] = await mineLog();
    await eventually(() => logs.length === 1);
    await ask('evm_revert', snapshot);
    await ask('evm_increaseTime', '0x1000');
    await ask('anvil_mine', '0x3');
    await eventually(() => logs.length === 2);
    expect(logs).toMatchObject([log, { ...log, removed: true }]);
  });
});

describe('pending transactions', () => {
  it('are refused with `require`, and the error says why', async () => {
    for (const levels of [{ network: 'require' }, { key: 'require' }]) {
      const { subscriber } = await open(levels);
      for (const [method, params] of [
        ['eth_subscribe', ['newPendingTransactions']],
        ['eth_newPendingTransactionFilter', []],
      ] as const)
        expect((await subscriber.call(method, params)).error).toMatchObject({
          code: -32_603,
          message: expect.stringContaining('pending transactions cannot be proven') as unknown,
        });
    }
  });

  it('are served with `enforce`, and with `require` of other methods', async () => {
    for (const network of ['enforce', { level: { 'eth_*': 'require', 'eth_getTransaction*': 'enforce' } }]) {
      const { subscriber } = await open({ network: network as string });
      expect((await subscriber.call('eth_newPendingTransactionFilter', [])).result).toMatch(/^0x/);
    }
  });
});
