import { expect, it, onTestFinished } from 'vitest';
import { rpcError, startFakeNode } from '../support/fake-node.ts';
import { network, startGateway } from '../support/gateway.ts';
import { storageParams, word } from './with-nodes.ts';

async function withUpstream(upstream: (url: string) => object, env: Record<string, string> = {}) {
  const node = await startFakeNode({ chainId: 7, responses: { eth_getStorageAt: word(1) } });
  const upstreams = [{ name: 'node', ...upstream(node.url) }];
  const gateway = await startGateway({ test: network(7, [], { upstreams }) }, env);
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
  });
  return { node, gateway };
}

it('headers of the network file are sent with every request, with variables replaced', async () => {
  const headers = { authorization: 'Bearer ${NODE_TOKEN}', 'x-plan': 'a b' };
  const { node, gateway } = await withUpstream((url) => ({ url, headers }), { NODE_TOKEN: 'tok-1' });
  expect(await gateway.call('test', 'eth_getStorageAt', storageParams)).toMatchObject({ result: word(1) });
  expect(node.calls.map(({ method }) => method).slice(0, 2)).toEqual(['eth_chainId', 'eth_getStorageAt']);
  for (const call of node.calls) {
    expect(call.headers).toMatchObject({ authorization: 'Bearer tok-1', 'x-plan': 'a b' });
  }
});

it('user and password of the URL become basic authentication, and are not part of the path', async () => {
  const { node, gateway } = await withUpstream((url) => ({
    url: url.replace('//', '//ann:p%40ss@') + '/rpc/k?token=${TOKEN:-none}',
  }));
  expect(await gateway.call('test', 'eth_getStorageAt', storageParams)).toMatchObject({ result: word(1) });
  const [, sent] = node.calls;
  expect(sent?.headers.authorization).toBe(`Basic ${Buffer.from('ann:p@ss').toString('base64')}`);
  expect(sent?.path).toBe('/rpc/k?token=none');
});

it('neither headers of the client nor its key are sent upstream', async () => {
  const { node, gateway } = await withUpstream((url) => ({ url }));
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'mine', method: 'eth_getStorageAt', params: storageParams });
  await gateway.post('test', body, { cookie: 'a=b', authorization: 'Bearer mine', 'x-forwarded-for': '10.1.2.3' });
  const sent = node.callsOf('eth_getStorageAt')[0];
  expect(Object.keys(sent?.headers ?? {}).sort()).toEqual(
    ['accept', 'accept-encoding', 'connection', 'content-length', 'content-type', 'host'].sort(),
  );
  expect(sent?.path).toBe('/');
  expect(JSON.stringify(sent)).not.toContain(gateway.key);
});

it('a call is sent as JSON with an id of Gatehouse, and with unchanged parameters', async () => {
  const { node, gateway } = await withUpstream((url) => ({ url }));
  const params = ['0x7DCD17433742F4c0Ca53122ab541d0bA67fc27df', '0x00', 'latest'];
  expect(await gateway.call('test', 'eth_getStorageAt', params, 'x"y')).toMatchObject({ id: 'x"y' });
  const sent = node.callsOf('eth_getStorageAt')[0];
  expect(JSON.parse(sent?.body ?? '')).toEqual({
    jsonrpc: '2.0',
    id: expect.any(Number) as number,
    method: 'eth_getStorageAt',
    params,
  });
  expect(sent?.headers['content-type']).toBe('application/json');
});

it('upper-case hashes are sent in lower case, in a block object too', async () => {
  const { node, gateway } = await withUpstream((url) => ({ url }));
  const upper = `0x${'AB'.repeat(32)}`;
  await gateway.call('test', 'eth_getTransactionByHash', [upper]);
  await gateway.call('test', 'eth_getStorageAt', [storageParams[0], '0x0', { blockHash: upper }]);
  expect(node.callsOf('eth_getTransactionByHash')[0]?.params).toEqual([upper.toLowerCase()]);
  expect(node.callsOf('eth_getStorageAt')[0]?.params).toEqual([
    storageParams[0],
    '0x0',
    { blockHash: upper.toLowerCase() },
  ]);
});

it('a provider’s key in path, query, user part or header is removed from error messages', async () => {
  const keys = { path: 'p'.repeat(32), query: 'q'.repeat(32), password: 's3cret-s3cret', header: 'h'.repeat(24) };
  const { node, gateway } = await withUpstream((url) => ({
    url: `${url.replace('//', `//ann:${keys.password}@`)}/v2/${keys.path}?key=${keys.query}`,
    headers: { authorization: `Bearer ${keys.header}` },
  }));
  for (const key of Object.values(keys)) {
    node.response('eth_getStorageAt', rpcError(-32_000, `the app "${key}" of plan v2 is disabled`));
    const { error } = await gateway.call('test', 'eth_getStorageAt', storageParams);
    expect(error?.message).toBe('the app <upstream> of plan v2 is disabled');
  }
  expect(node.callsOf('eth_getStorageAt')).toHaveLength(4);
});
