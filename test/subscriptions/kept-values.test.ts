import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { chainNetwork, startChainNode, type ChainNode } from './chain-node.ts';
import { hashOf, ScriptedChain } from './scripted-chain.ts';
import { openSubscriber, type Subscriber } from './subscriber.ts';

let nodes: ChainNode[];
let gateway: TestGateway;
let subscriber: Subscriber;

beforeAll(async () => {
  nodes = await Promise.all([7, 8].map((chainId) => startChainNode(chainId, new ScriptedChain())));
  const [seven, eight] = nodes as [ChainNode, ChainNode];
  const networks = { seven: chainNetwork(7, [seven]), eight: chainNetwork(8, [eight]) };
  gateway = await startGateway(networks, { filterValuesPerKey: '300' });
  subscriber = await openSubscriber(gateway, 'seven');
});
afterAll(async () => {
  subscriber.caller.socket.terminate();
  await gateway.stop();
  await Promise.all(nodes.map((node) => node.stop()));
});

const addresses = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `0x${(index + 1).toString(16).padStart(40, '0')}`);
const newFilter = (slug: string, filter: object) => gateway.call(slug, 'eth_newFilter', [filter]);
const beyondBound = (values: number, kept: number) => ({
  code: -32_005,
  message:
    `the filter has ${values} addresses, topics and hashes, and open ones of this project id have ${kept}, ` +
    `of at most 300; ${300 - kept} would fit`,
});
const bufferedBytes = async (): Promise<number | undefined> =>
  (await readMetrics(gateway.address)).value('gatehouse_buffered_bytes');

describe('the addresses, topics and hashes of a key', () => {
  it('are bounded over filters and subscriptions of all networks, until these end', async () => {
    const { result: filter } = await newFilter('seven', { address: addresses(99), topics: [hashOf('t')] });
    const topics = [null, addresses(100).map(hashOf)];
    const { result: subscription } = await subscriber.call('eth_subscribe', ['logs', { topics }]);
    expect(subscription).toMatch(/^0x/);
    expect((await newFilter('eight', { address: addresses(101) })).error).toEqual(beyondBound(101, 200));
    const hashes = { transactionHashes: addresses(101).map(hashOf) };
    const rejected = await subscriber.call('eth_subscribe', ['transactionReceipts', hashes]);
    expect(rejected.error).toEqual(beyondBound(101, 200));
    expect((await newFilter('eight', { address: addresses(100) })).error).toBeUndefined();
    await gateway.call('seven', 'eth_uninstallFilter', [filter]);
    await subscriber.call('eth_unsubscribe', [subscription]);
    expect((await newFilter('seven', { address: addresses(201) })).error).toEqual(beyondBound(201, 100));
    expect((await newFilter('seven', { address: addresses(200) })).error).toBeUndefined();
  });

  it('of one filter count as they are sent', async () => {
    const address = Array.from({ length: 301 }, () => addresses(1)[0]);
    const { error } = await subscriber.call('eth_subscribe', ['logs', { address }]);
    expect(error).toEqual(beyondBound(301, 0));
    const topics = [Array.from({ length: 2_000 }, () => null)];
    const message = 'invalid params: filter: expected at most 1999 addresses and topics: it has 2000';
    expect((await newFilter('seven', { topics })).error).toEqual({ code: -32_602, message });
  });

  it('take bytes of the memory budget', async () => {
    const other = await startGateway({ seven: chainNetwork(7, nodes.slice(0, 1)) }, { BODIES_MAX_BYTES: '1000000' });
    try {
      const socket = await openSubscriber(other, 'seven');
      const open = async (): Promise<unknown> => {
        const { error } = await socket.call('eth_subscribe', ['logs', { address: addresses(1_000) }]);
        return error;
      };
      // A second one would exceed the half of the budget that is for all keys.
      expect(await open()).toBeUndefined();
      expect(await open()).toMatchObject({ code: -32_005 });
      socket.caller.socket.terminate();
      await eventually(async () => (await readMetrics(other.address)).value('gatehouse_buffered_bytes') === 0);
    } finally {
      await other.stop();
    }
  });
});

it('members that the spec does not name are not kept', async () => {
  const before = (await bufferedBytes()) ?? NaN;
  const { result: id } = await newFilter('seven', { fromBlock: 'latest', junk: 'x'.repeat(4_000_000), address: null });
  expect((await bufferedBytes()) ?? NaN).toBeLessThan(before + 10_000);
  const [node] = nodes as [ChainNode];
  node.response('eth_getLogs', () => []);
  expect((await gateway.call('seven', 'eth_getFilterLogs', [id])).result).toEqual([]);
  expect(node.callsOf('eth_getLogs').at(-1)?.params).toEqual([{ fromBlock: 'latest', address: null }]);
});
