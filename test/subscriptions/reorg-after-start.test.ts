import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { addressOf, hashOf, ScriptedChain, type Block } from './scripted-chain.ts';
import { openSubscriber, type Subscriber } from './subscriber.ts';

const transfer = { address: addressOf('token'), topics: [hashOf('Transfer')] };
const missed = { code: 1013, reason: 'blocks were missed: subscribe again' };

interface Network {
  readonly slug: string;
  readonly chain: ScriptedChain;
  readonly node: FakeNode;
}

/** Each test has a network of its own, whose chain the gateway does not know yet. */
const unused: Network[] = [];
let gateway: TestGateway;

beforeAll(async () => {
  for (const slug of ['one', 'two', 'three', 'four', 'five', 'six']) {
    const chain = new ScriptedChain(700);
    unused.push({ slug, chain, node: await startFakeNode({ chainId: 7, responses: chain.responses() }) });
  }
  gateway = await startGateway(Object.fromEntries(unused.map(({ slug, node }) => [slug, network(7, [node.url])])));
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all(unused.map(({ node }) => node.close()));
});

let used = 0;

/** @param keepsRemoved the node returns removed blocks by their hashes */
async function subscribe(keepsRemoved: boolean): Promise<Network & { readonly subscriber: Subscriber }> {
  const found = unused[used++];
  if (found === undefined) throw new Error('there are too few networks');
  const { slug, chain, node } = found;
  const byHash = chain.responses()['eth_getBlockByHash'] as (
    params: unknown,
  ) => { readonly number: string } | undefined;
  const isCanonical = (block: { readonly number: string; readonly hash?: string } | undefined): boolean =>
    block !== undefined && chain.canonical[Number(block.number)]?.header.hash === block.hash;
  if (!keepsRemoved)
    node.response('eth_getBlockByHash', (params: unknown) => {
      const block = byHash(params);
      return isCanonical(block) ? block : null;
    });
  const subscriber = await openSubscriber(gateway, slug);
  onTestFinished(() => {
    subscriber.caller.socket.terminate();
  });
  return { ...found, subscriber };
}

/** Replaces the newest blocks by one more. The gateway sees only the last one. */
function reorganise(chain: ScriptedChain, depth: number): Block[] {
  chain.removeBlocks(depth);
  return Array.from({ length: depth + 1 }, () => chain.mine([transfer]));
}

describe('a reorg below the oldest block that was delivered', () => {
  it.each([
    ['of 8 blocks, which the node does not return any more', 8, false],
    ['of 60 blocks, which the node does not return any more', 60, false],
    ['of 100 blocks, which the node returns by their hashes', 100, true],
  ])('%s is delivered whole', async (_, depth, keepsRemoved) => {
    const { slug, chain, node, subscriber } = await subscribe(keepsRemoved);
    const heads = await subscriber.subscribe('newHeads');
    const logs = await subscriber.subscribe('logs', {});
    const { result: filter } = await gateway.call(slug, 'eth_newBlockFilter', []);
    const delivered = chain.mine([transfer]);
    await eventually(() => heads.length === 1 && logs.length === 1);
    await eventually(() => node.callsOf('eth_getBlockByNumber').length > 64);
    const branch = reorganise(chain, depth);
    await eventually(() => heads.length > 1 && logs.length > 1 + depth);
    expect(heads.slice(1)).toMatchObject(branch.map(({ header: { number, hash } }) => ({ number, hash })));
    const added = branch.flatMap((block) => block.logs);
    expect(logs.slice(1)).toEqual([{ ...delivered.logs[0], removed: true }, ...added]);
    const { result: hashes } = await gateway.call(slug, 'eth_getFilterChanges', [filter]);
    expect(hashes).toEqual([delivered, ...branch].map(({ header }) => header.hash));
  });

  it.each([
    ['of 100 blocks, which the node does not return any more,', 100, false],
    ['of 600 blocks', 600, true],
  ])('%s closes the sockets, and ends the filters', async (_, depth, keepsRemoved) => {
    const { slug, chain, subscriber } = await subscribe(keepsRemoved);
    const heads = await subscriber.subscribe('newHeads');
    const other = await openSubscriber(gateway, slug);
    await other.subscribe('logs', {});
    const { result: filter } = await gateway.call(slug, 'eth_newBlockFilter', []);
    chain.mine([transfer]);
    await eventually(() => heads.length === 1);
    reorganise(chain, depth);
    expect(await subscriber.caller.closed).toEqual(missed);
    expect(await other.caller.closed).toEqual(missed);
    expect(heads).toHaveLength(1);
    expect((await gateway.call(slug, 'eth_getFilterChanges', [filter])).error).toEqual({
      code: -32_000,
      message: 'filter not found',
    });
  });
});
