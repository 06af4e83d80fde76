import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { startFakeWebSocketNode } from '../support/fake-websocket-node.ts';
import { startGateway } from '../support/gateway.ts';
import { storageParams, word } from '../routing/with-nodes.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { ScriptedChain } from './scripted-chain.ts';
import { CHAIN_ID, scriptedNode, notifyHead, withHeads } from './with-heads.ts';

it('the first call of a network starts polls of its heads only, and polls are counted apart from calls', async () => {
  const nodes = await Promise.all([new ScriptedChain(), new ScriptedChain(), new ScriptedChain()].map(scriptedNode));
  for (const node of nodes) node.response('eth_getStorageAt', word(1));
  const network = (...urls: string[]) => ({
    name: 'Test',
    chainId: CHAIN_ID,
    upstreams: urls.map((url, index) => ({ name: `node-${index}`, url })),
  });
  const [one, two, three] = nodes.map(({ url }) => url) as [string, string, string];
  const gateway = await startGateway({ used: network(one, two), idle: network(three) }, { CACHE_MAX_BYTES: '0' });
  onTestFinished(() => gateway.stop());
  await gateway.call('idle', 'eth_chainId');
  await staysTrueFor(50, () => nodes.every(({ calls }) => calls.length === 0));
  for (let calls = 0; calls < 5; calls++) await gateway.call('used', 'eth_getStorageAt', storageParams);
  await eventually(() => nodes[0]?.polls() === 1 && nodes[1]?.polls() === 1);
  await expect
    .poll(async () => (await readMetrics(gateway.address)).value('gatehouse_network_head_block', { network: 'used' }))
    .toBe(100);
  // All calls share one poll; the other network gets no request.
  expect(nodes.map(({ calls }) => calls.length)).toEqual([7, 2, 0]);
  const { value } = await readMetrics(gateway.address);
  const upstream = (index: number) => ({ network: 'used', upstream: `node-${index}`, outcome: 'response' });
  expect([0, 1].map((index) => value('gatehouse_upstream_attempts_total', upstream(index)) ?? 0)).toEqual([5, 0]);
  expect([0, 1].map((index) => value('gatehouse_head_polls_total', upstream(index)))).toEqual([1, 1]);
});

it('an upstream with url and websocketUrl notifies of heads over the WebSocket, and gets calls over the URL', async () => {
  const chain = new ScriptedChain();
  const node = await startFakeNode({ chainId: CHAIN_ID, responses: { eth_getStorageAt: word(1) } });
  node.response('eth_getBlockByNumber', () => chain.head);
  const feed = await startFakeWebSocketNode(CHAIN_ID);
  const upstreams = [{ name: 'node', url: node.url, websocketUrl: feed.url }];
  const gateway = await startGateway({ test: { name: 'Test', chainId: CHAIN_ID, upstreams } });
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
    await feed.stop();
  });
  await gateway.call('test', 'eth_getStorageAt', storageParams);
  await eventually(() => feed.calls.some(({ method }) => method === 'eth_subscribe'));
  await eventually(() => node.callsOf('eth_getBlockByNumber').length === 2);
  chain.mine();
  notifyHead(feed, chain);
  await expect
    .poll(async () => (await readMetrics(gateway.address)).value('gatehouse_upstream_head_block', { upstream: 'node' }))
    .toBe(101);
  expect(feed.calls.map(({ method }) => method)).toEqual(['eth_chainId', 'eth_subscribe']);
  expect(node.calls.map(({ method }) => method)).toEqual([
    'eth_chainId',
    'eth_getStorageAt',
    'eth_getBlockByNumber',
    'eth_getBlockByNumber',
  ]);
});

it('a poll after the cooldown closes the circuit of an upstream that gets no calls', async () => {
  const chain = new ScriptedChain();
  const lines: { msg: string; upstream: string }[] = [];
  const log = pino({}, { write: (text) => void lines.push(JSON.parse(text) as { msg: string; upstream: string }) });
  const { upstreams, watch, nodes } = await withHeads([chain, chain], {}, log);
  await watch();
  upstreams[1]?.recordFailure('eth_call', { final: false, failure: 'transport', response: undefined }, clock.now());
  const polls = nodes[1]?.polls() ?? 0;
  await eventually(() => (nodes[1]?.polls() ?? 0) > polls + 2);
  // Responses to polls do not end the cooldown.
  expect(upstreams[1]?.circuit.isClosed).toBe(false);
  await expect.poll(() => upstreams[1]?.circuit.isClosed).toBe(true);
  const after = nodes[1]?.polls() ?? 0;
  await eventually(() => (nodes[1]?.polls() ?? 0) > after + 1);
  expect(lines).toMatchObject([{ msg: 'upstream recovered', upstream: 'node-1' }]);
});
