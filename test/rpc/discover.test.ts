import { afterAll, beforeAll, expect, it } from 'vitest';
import { methods } from '../../gateway/spec/methods.generated.ts';
import type { OpenRpcDocument } from '../../schemas/documents.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { openCaller, socketUrl } from '../server/websocket/caller.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

let node: FakeNode;
let gateway: TestGateway;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5 });
  gateway = await startGateway({
    all: network(5, [node.url], { methods: ['eth', 'net', 'web3', 'rpc', 'zks', 'linea'] }),
    few: network(5, [node.url], { methods: ['eth_chainId', 'rpc.discover', 'debug_traceBlock'] }),
    based: network(5, [node.url], { baseUrls: ['https://rpc.example.org/five'] }),
    none: network(5, [node.url], { methods: ['eth_chainId'] }),
  });
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

async function discover(slug: string): Promise<OpenRpcDocument> {
  return (await gateway.call(slug, 'rpc.discover')).result as OpenRpcDocument;
}

it('rpc.discover describes the methods that the network serves, and no others', async () => {
  const all = await discover('all');
  expect(all.openrpc).toMatch(/^1\./);
  expect(all.methods.map(({ name }) => name)).toEqual(methods.map(({ name }) => name));
  const few = await discover('few');
  expect(few.methods.map(({ name }) => name).sort()).toEqual(['debug_traceBlock', 'eth_chainId', 'rpc.discover']);
  expect(Object.keys(few.components.schemas).sort()).toEqual(['OpenRpcDocument', 'Quantity']);
});

it('rpc.discover names the address of the network that the caller uses, over HTTP and WebSocket', async () => {
  const path = gateway.address.replace('http:', '');
  const ofMain = [`http:${path}/few/v3/\${key}`, `ws:${path}/few/ws/v3/\${key}`];
  const urlsOf = ({ servers }: OpenRpcDocument): string[] => (servers as { url: string }[]).map(({ url }) => url);
  expect(urlsOf(await discover('few'))).toEqual(ofMain);
  const caller = await openCaller(socketUrl(gateway, 'few'));
  const { result } = (await caller.call('rpc.discover')) as { result: OpenRpcDocument };
  caller.socket.terminate();
  expect(urlsOf(result)).toEqual(ofMain);
  expect(urlsOf(await discover('based'))).toEqual([
    'https://rpc.example.org/five/v3/${key}',
    'wss://rpc.example.org/five/ws/v3/${key}',
  ]);
});

it('rpc.discover can be excluded like any method, and has no parameters', async () => {
  const notFound = { code: -32601, message: 'The method rpc.discover does not exist/is not available' };
  expect((await gateway.call('none', 'rpc.discover')).error).toEqual(notFound);
  const invalid = { code: -32602, message: 'invalid params: expected no parameters' };
  expect((await gateway.call('all', 'rpc.discover', [1])).error).toEqual(invalid);
});
