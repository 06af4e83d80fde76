import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Caller } from '../server/websocket/caller.ts';
import { receiptsOf } from '../subscriptions/block-receipts.ts';
import { chainNetwork, startChainNode, type ChainNode } from '../subscriptions/chain-node.ts';
import { addressOf, hashOf, ScriptedChain, type Block } from '../subscriptions/scripted-chain.ts';
import { subscriberOver } from '../subscriptions/subscriber.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network } from '../support/gateway.ts';
import { inLongRun } from '../support/long-run.ts';
import { CONNECTIONS, onAll, START_MS, TwoWorkers, type Reply } from './two-workers.ts';

const chainId = 10;
const contract = addressOf('contract');
const transfer = { address: contract, topics: [hashOf('Transfer')] };
const word = `0x${'2a'.padStart(64, '0')}`;

/** Chains by slug: `main` is polled, and the upstream of `live` sends notifications. */
const chains = { main: new ScriptedChain(), live: new ScriptedChain() };
/** The tests of the polled network wait for its polls. */
const slugs = inLongRun(['main', 'live'] as const, ['live'] as const);
let node: FakeNode;
let liveNode: ChainNode;
let gateway: TwoWorkers;

beforeAll(async () => {
  node = await startFakeNode({ chainId, responses: { ...chains.main.responses(), eth_getStorageAt: word } });
  liveNode = await startChainNode(chainId, chains.live);
  node.response('eth_getBlockByNumber', blockOf(chains.main));
  liveNode.response('eth_getBlockByNumber', blockOf(chains.live));
  node.response('eth_getBlockReceipts', ([hash]: readonly unknown[]) => receiptsOf(chains.main, String(hash)));
  liveNode.response('eth_getBlockReceipts', ([hash]: readonly unknown[]) => receiptsOf(chains.live, String(hash)));
  const networks = { main: network(chainId, [node.url]), live: chainNetwork(chainId, [liveNode]) };
  // Without cache.db, which the workers share: what the nodes return is tested.
  gateway = await TwoWorkers.start(networks, { CACHE_DISK_MAX_BYTES: '0' });
}, 120_000);
afterAll(async () => {
  await gateway.close();
  await Promise.all([node.close(), liveNode.stop()]);
});
beforeEach(() => eventually(() => gateway.bothListen(), START_MS));

/** `eth_getBlockByNumber` of a node whose newest final block is the first one: later ones may be replaced. */
function blockOf(chain: ScriptedChain): (params: readonly unknown[]) => unknown {
  const respond = chain.responses()['eth_getBlockByNumber'] as (params: readonly unknown[]) => unknown;
  return ([number]) => respond([number === 'finalized' || number === 'safe' ? '0x0' : number]);
}

interface Seen {
  readonly heads: readonly { readonly hash: string }[];
  readonly logs: readonly unknown[];
}

/** What a subscriber gets of new heads, and of the logs of the contract. The arrays grow. */
async function subscribe(caller: Caller): Promise<Seen> {
  const subscriber = subscriberOver(caller);
  const heads = (await subscriber.subscribe('newHeads')) as { hash: string }[];
  return { heads, logs: await subscriber.subscribe('logs', { address: contract }) };
}

const hashesOf = (blocks: readonly Block[]): string[] => blocks.map(({ header }) => header.hash);
const logsOf = (blocks: readonly Block[]): unknown[] => blocks.flatMap(({ logs }) => logs);
/** Newest first. */
const removedOf = (blocks: readonly Block[]): unknown[] =>
  logsOf(blocks)
    .reverse()
    .map((log) => ({ ...(log as object), removed: true }));

function mine(chain: ScriptedChain, count: number): Block[] {
  return Array.from({ length: count }, () => chain.mine([transfer, transfer]));
}

const hashesOfHeads = ({ heads }: Seen): string[] => heads.map(({ hash }) => hash);
const has = (hash: string) => (seen: Seen) => seen.heads.some((head) => head.hash === hash);

describe('two workers', () => {
  it('have every block that the other one has served, also if a node behind the same URL lacks it', async () => {
    const [one, other] = await gateway.socketAtEach();
    // Older than the blocks that the workers follow.
    const [
      {
        header: { hash },
      },
    ] = chains.main.canonical as [Block];
    const respond = chains.main.responses()['eth_getBlockByHash'] as (params: readonly unknown[]) => unknown;
    expect(await one.call('eth_getBlockByHash', [hash, false])).toMatchObject({ result: { hash } });
    let nulls = 1;
    node.response('eth_getBlockByHash', (params: readonly unknown[]) => (nulls-- > 0 ? null : respond(params)));
    expect(await other.call('eth_getBlockByHash', [hash, false])).toMatchObject({ result: { hash } });
    expect(nulls).toBe(-1);
    node.response('eth_getBlockByHash', respond);
  });

  it('never serve an older head than the one before, on whichever connection', async () => {
    let newest = 0;
    for (let mined = 0; mined < 20; mined++) {
      chains.main.mine();
      for (let sent = 0; sent < 4; sent++) {
        const { result } = await gateway.call('eth_blockNumber');
        expect(Number(result)).toBeGreaterThanOrEqual(newest);
        newest = Number(result);
      }
    }
  });

  it('never serve an older head than one that a subscriber of either got, each head once and in order', async () => {
    const callers = await Promise.all(Array.from({ length: 4 }, () => gateway.openSocket()));
    for (const caller of callers) await caller.call('eth_subscribe', ['newHeads']);
    const numbers = (): number[][] =>
      callers.map(({ unread }) => unread.map((text) => Number(/"number":"(0x[0-9a-f]+)"/.exec(text)?.[1])));
    let mined = 0;
    for (let block = 0; block < 5; block++) {
      mined = Number(chains.main.mine().header.number);
      await eventually(() => numbers().some((delivered) => delivered.includes(mined)));
      for (const { result } of await onAll(() => gateway.call('eth_blockNumber')))
        expect(Number(result)).toBeGreaterThanOrEqual(mined);
    }
    await eventually(() => numbers().every((delivered) => delivered.includes(mined)));
    for (const delivered of numbers()) {
      const first = delivered[0] ?? 0;
      expect(delivered).toEqual(Array.from({ length: mined - first + 1 }, (_, index) => first + index));
      expect(delivered.length).toBeGreaterThanOrEqual(5);
    }
    for (const { socket } of callers) socket.terminate();
  }, 60_000);

  it('deliver each new head to subscribers of both', async () => {
    const callers = await Promise.all(Array.from({ length: 4 }, () => gateway.openSocket()));
    for (const caller of callers) await caller.call('eth_subscribe', ['newHeads']);
    const { hash } = chains.main.mine().header;
    await eventually(() => callers.every(({ unread }) => unread.some((text) => text.includes(hash))));
    for (const { socket } of callers) socket.terminate();
  });

  it('serve a filter on whichever connection its calls arrive, and only to its key', async () => {
    const { result: id } = await gateway.call('eth_newBlockFilter');
    const key = await gateway.knownKey();
    const strangers = await onAll(() => gateway.call('eth_getFilterChanges', [id], { key }));
    expect(strangers.every(({ error }) => error?.message === 'filter not found')).toBe(true);
    const before = await onAll(() => gateway.call('eth_getFilterChanges', [id]));
    expect(before.every(({ result }) => Array.isArray(result))).toBe(true);
    const found: unknown[] = [];
    const hashes = [1, 2, 3].map(() => chains.main.mine().header.hash);
    await eventually(async () => {
      for (const { result } of await onAll(() => gateway.call('eth_getFilterChanges', [id])))
        found.push(...(result as unknown[]));
      return found.includes(hashes.at(-1));
    });
    // Each block once, whichever worker was polled.
    expect(new Set(found).size).toBe(found.length);
    expect(found).toEqual(expect.arrayContaining(hashes));
    const removed = await onAll(() => gateway.call('eth_uninstallFilter', [id]));
    expect(removed.filter(({ result }) => result === true)).toHaveLength(1);
    const after = await onAll(() => gateway.call('eth_getFilterChanges', [id]));
    expect(after.every(({ error }) => error?.message === 'filter not found')).toBe(true);
  });

  it('read the logs of a filter of either worker', async () => {
    const { result: id } = await gateway.call('eth_newFilter', [{ address: `0x${'34'.repeat(20)}` }]);
    const replies = await onAll(() => gateway.call('eth_getFilterLogs', [id]));
    expect(replies.map(({ result, error }) => result ?? error)).toEqual(Array.from({ length: CONNECTIONS }, () => []));
  });
});

it('two workers serve a filter no more whose key was restricted to other contracts', async () => {
  const { key, id: keyId } = await gateway.createKey();
  await gateway.eventuallyAll(() => gateway.storage({ key }), 200);
  const created = await onAll(() => gateway.call('eth_newFilter', [{ address: contract }], { key }));
  await gateway.admin(`/keys/${keyId}`, { permissions: { contracts: [addressOf('other')] } }, 'PATCH');
  for (const { result: id } of created)
    await gateway.eventuallyAll(() => gateway.call('eth_getFilterChanges', [id], { key }), 403);
});

it.each(['main', 'live'] as const)(
  'two workers deliver the receipts of each block of the network %s to subscribers of both, once and in order',
  async (slug) => {
    const callers = await gateway.socketAtEach(gateway.key, slug);
    const lists = await Promise.all(callers.map((caller) => subscriberOver(caller).subscribe('transactionReceipts')));
    const hashes = hashesOf(mine(chains[slug], 3));
    await eventually(() => lists.every((list) => list.length >= 3));
    for (const list of lists) expect(list).toEqual(hashes.map((hash) => receiptsOf(chains[slug], hash)));
    for (const { socket } of callers) socket.terminate();
  },
);

describe.each(slugs)('a reorg on the network %s', (slug) => {
  const chain = chains[slug];

  it('is delivered to subscribers of both: each removed log once, then the new branch without a gap', async () => {
    const callers = await gateway.socketAtEach(undefined, slug);
    const seen = await Promise.all(callers.map(subscribe));
    const [heads, logs]: [string[], unknown[]] = [[], []];
    const deliver = async (removed: readonly Block[], added: readonly Block[]): Promise<void> => {
      heads.push(...hashesOf(added));
      logs.push(...removedOf(removed), ...logsOf(added));
      await eventually(() =>
        seen.every((each) => each.heads.length >= heads.length && each.logs.length >= logs.length),
      );
      for (const each of seen) expect([hashesOfHeads(each), each.logs]).toEqual([heads, logs]);
    };
    for (const depth of [1, 3]) {
      await deliver([], mine(chain, 4));
      await deliver(chain.removeBlocks(depth), mine(chain, depth + 1));
    }
    for (const { socket } of callers) socket.terminate();
  });

  it('is soon seen by readers of both, whatever they have in their caches', async () => {
    const callers = await gateway.socketAtEach(undefined, slug);
    const seen = await Promise.all(callers.map(subscribe));
    const allRead = ({ number, hash }: Block['header']): Promise<number> =>
      eventually(async () => {
        const replies = await onAll(() => gateway.call('eth_getBlockByNumber', [number, false], { slug }));
        return replies.every(({ result }) => (result as { hash?: string } | undefined)?.hash === hash);
      });
    for (let round = 0; round < 3; round++) {
      const [, { header: replaced }] = mine(chain, 2) as [Block, Block];
      await eventually(() => seen.every(has(replaced.hash)));
      await allRead(replaced);
      chain.removeBlocks(1);
      const [{ header: block }, { header: head }] = mine(chain, 2) as [Block, Block];
      await eventually(() => seen.some(has(head.hash)));
      await allRead(block);
    }
    for (const { socket } of callers) socket.terminate();
  });

  it('is in the changes of a filter once, whichever worker has it and whichever is polled', async () => {
    const callers = await gateway.socketAtEach(undefined, slug);
    const result = async (caller: Caller, method: string, param: unknown): Promise<unknown> =>
      ((await caller.call(method, [param])) as { result: unknown }).result;
    const ids: unknown[] = [];
    for (const caller of callers) ids.push(await result(caller, 'eth_newFilter', { address: contract }));
    const found = ids.map((): unknown[] => []);
    const expected: unknown[] = [];
    const deliver = async (logs: readonly unknown[]): Promise<void> => {
      expected.push(...logs);
      await eventually(async () => {
        for (const caller of callers)
          for (const [index, id] of ids.entries())
            found[index]?.push(...((await result(caller, 'eth_getFilterChanges', id)) as unknown[]));
        return found.every(({ length }) => length >= expected.length);
      });
      for (const each of found) expect(each).toEqual(expected);
    };
    for (const depth of [1, 3]) {
      await deliver(logsOf(mine(chain, 4)));
      const removed = removedOf(chain.removeBlocks(depth));
      await deliver([...removed, ...logsOf(mine(chain, depth + 1))]);
    }
    for (const { socket } of callers) socket.terminate();
  });
});

describe.each(slugs)('a worker that ends, on the network %s,', (slug) => {
  const chain = chains[slug];

  it('loses its own subscribers and filters only, also if it polled for both, and they continue at the other', async () => {
    const [older, newer] = await gateway.socketAtEach(undefined, slug);
    const newFilter = async (caller: Caller): Promise<unknown> => {
      const { result } = (await caller.call('eth_newFilter', [{ address: contract }])) as { result: unknown };
      return result;
    };
    const [lost, kept] = [await newFilter(older), await newFilter(newer)];
    const [olderSeen, newerSeen] = [await subscribe(older), await subscribe(newer)];
    const blocks = mine(chain, 2);
    await eventually(() => [olderSeen, newerSeen].every(has(chain.head.header.hash)));
    process.kill(gateway.workers[0] ?? 0, 'SIGKILL');
    await older.closed;
    blocks.push(...mine(chain, 2));
    const reopened = await gateway.openSocket(undefined, slug);
    const again = await subscribe(reopened);
    blocks.push(...mine(chain, 2));
    await eventually(() => newerSeen.logs.length >= logsOf(blocks).length && has(chain.head.header.hash)(again));
    expect([hashesOfHeads(newerSeen), newerSeen.logs]).toEqual([hashesOf(blocks), logsOf(blocks)]);
    // It begins with a later block than the lost one ended with, and has no gap.
    const since = hashesOf(blocks).indexOf(again.heads[0]?.hash ?? '');
    expect(since).toBeGreaterThanOrEqual(2);
    expect(hashesOfHeads(again)).toEqual(hashesOf(blocks).slice(since));
    await eventually(() => gateway.bothListen(), START_MS);
    const changes = (id: unknown): Promise<Reply[]> =>
      onAll(() => gateway.call('eth_getFilterChanges', [id], { slug }));
    const found: unknown[] = [];
    await eventually(async () => {
      for (const { result } of await changes(kept)) found.push(...(result as unknown[]));
      return found.length >= logsOf(blocks).length;
    });
    expect(found).toHaveLength(logsOf(blocks).length);
    expect(found).toEqual(expect.arrayContaining(logsOf(blocks)));
    expect((await changes(lost)).every(({ error }) => error?.message === 'filter not found')).toBe(true);
    for (const { socket } of [newer, reopened]) socket.terminate();
  }, 180_000);
});
