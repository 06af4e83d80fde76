import { expect, it, onTestFinished } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { rpcError, startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

/** Pass-through methods: named in the network's file, without a schema. */
const methods = ['eth', 'debug_traceTransaction', 'bor_getAuthor', 'txpool_content'];
const hash = `0x${'AB'.repeat(32)}`;

async function start(count = 1): Promise<{ nodes: FakeNode[]; gateway: TestGateway }> {
  const nodes = await Promise.all(Array.from({ length: count }, () => startFakeNode({ chainId: 5 })));
  const urls = nodes.map(({ url }) => url);
  const gateway = await startGateway({ named: network(5, urls, { methods }), plain: network(5, urls) });
  onTestFinished(async () => {
    await gateway.stop();
    await Promise.all(nodes.map((node) => node.close()));
  });
  return { nodes, gateway };
}

it('a pass-through method has any parameters and any result', async () => {
  const { nodes, gateway } = await start();
  const results = [{ structLogs: [], gas: 5 }, null, [], '', 'x', 5, false];
  for (const result of results) {
    nodes[0]?.response('debug_traceTransaction', result);
    const params = [hash, { tracer: 'callTracer' }, null, 5];
    expect(await gateway.call('named', 'debug_traceTransaction', params)).toEqual({ jsonrpc: '2.0', id: 1, result });
    expect(nodes[0]?.callsOf('debug_traceTransaction').at(-1)?.params).toEqual(params);
  }
  nodes[0]?.response('bor_getAuthor', `0x${'1'.repeat(40)}`);
  expect(await gateway.call('named', 'bor_getAuthor')).toMatchObject({ result: `0x${'1'.repeat(40)}` });
});

it('its errors are the node’s, and no other upstream gets the call', async () => {
  const { nodes, gateway } = await start(3);
  for (const node of nodes) node.response('txpool_content', rpcError(-32000, 'the pool is dry', '0x01'));
  expect((await gateway.call('named', 'txpool_content')).error).toEqual({
    code: -32000,
    message: 'the pool is dry',
    data: '0x01',
  });
  expect(nodes.map((node) => node.callsOf('txpool_content').length)).toEqual([1, 0, 0]);
});

it('is -32601 if no upstream supports it, and on networks whose files do not name it', async () => {
  const { nodes, gateway } = await start(2);
  const error = { code: -32601, message: 'The method bor_getAuthor does not exist/is not available' };
  expect((await gateway.call('named', 'bor_getAuthor')).error).toEqual(error);
  expect(nodes.map((node) => node.callsOf('bor_getAuthor').length)).toEqual([1, 1]);
  expect((await gateway.call('plain', 'bor_getAuthor')).error).toEqual(error);
  expect((await gateway.call('named', 'bor_getSnapshot')).error).toMatchObject({ code: -32601 });
  expect(nodes.map((node) => node.callsOf('bor_getAuthor').length)).toEqual([1, 1]);
});

it('has its own label in the metrics', async () => {
  const { nodes, gateway } = await start();
  nodes[0]?.response('txpool_content', {});
  await gateway.call('named', 'txpool_content');
  await gateway.call('named', 'txpool_inspect');
  const { value } = await readMetrics(gateway.address);
  const of = (method: string, outcome: string): number | undefined =>
    value('gatehouse_calls_total', { network: 'named', method, outcome });
  expect(of('txpool_content', 'result')).toBe(1);
  expect(of('other', 'method-not-found')).toBe(1);
});

it('a lookup that no upstream supports is null for uncles, -32601 for newer methods', async () => {
  const { gateway } = await start();
  expect(await gateway.call('plain', 'eth_getUncleByBlockNumberAndIndex', ['0x1', '0x0'])).toMatchObject({
    result: null,
  });
  expect((await gateway.call('plain', 'eth_getBlockReceipts', ['0x1'])).error).toMatchObject({ code: -32601 });
});

it('a notification that sends is forwarded, one that reads is not', async () => {
  const { nodes, gateway } = await start();
  nodes[0]?.response('eth_sendRawTransaction', `0x${'ab'.repeat(32)}`);
  nodes[0]?.response('eth_gasPrice', '0x1');
  const notify = async (method: string, params: unknown[]): Promise<number> =>
    (await gateway.post('plain', JSON.stringify({ jsonrpc: '2.0', method, params }))).status;
  expect(await notify('eth_sendRawTransaction', ['0x02f870'])).toBe(204);
  expect(await notify('eth_sendRawTransaction', ['0x02f'])).toBe(204);
  expect(await notify('eth_gasPrice', [])).toBe(204);
  nodes[0]?.response('eth_sendRawTransaction', rpcError(-32000, 'nonce too low'));
  expect(await notify('eth_sendRawTransaction', ['0x02f871'])).toBe(204);
  expect(nodes[0]?.callsOf('eth_sendRawTransaction').map(({ params }) => params)).toEqual([['0x02f870'], ['0x02f871']]);
  expect(nodes[0]?.callsOf('eth_gasPrice')).toEqual([]);
});
