import { request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { expectResponse, resultText } from './expect-response.ts';

const word = `0x${'2a'.repeat(32)}`;
const call = '{"jsonrpc":"2.0","id":1,"method":"net_version"}';
const rpcResponse = resultText('1', '5');
const batch = (items: number): string => `[${Array.from({ length: items }, () => call).join(',')}]`;
const batchResponse = (items: number): string => `[${Array.from({ length: items }, () => rpcResponse).join(',')}]`;

let node: FakeNode;
let requested: TestGateway;
let untried: TestGateway;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5 });
  node.response('eth_getStorageAt', word);
  const networks = { main: network(5, [node.url]) };
  const overBytes = String(batchResponse(10).length);
  [requested, untried] = await Promise.all([
    startGateway(networks, { COMPRESS_ANSWERS_OVER_BYTES: overBytes }),
    startGateway(networks),
  ]);
});
afterAll(() => Promise.all([requested.stop(), untried.stop(), node.close()]));

/** `fetch` decompresses the body but not the headers: Content-Length is that of the compressed body. */
function post(gateway: TestGateway, body: string, acceptEncoding: string): Promise<Response> {
  return gateway.post('main', body, { 'accept-encoding': acceptEncoding });
}

describe('a response', () => {
  it('is not compressed by default', async () => {
    const response = await post(untried, batch(1_000), 'gzip');
    await expectResponse(response, 200, batchResponse(1_000));
    expect([response.headers.get('content-encoding'), response.headers.get('vary')]).toEqual([null, null]);
  });

  it('above the configured size is gzipped, and decompresses to the same text', async () => {
    const response = await post(requested, batch(11), 'gzip');
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect(response.headers.get('vary')).toBe('Accept-Encoding');
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(Number(response.headers.get('content-length'))).toBeLessThan(200);
    expect(response.headers.get('x-request-id')).not.toBeNull();
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(await response.text()).toBe(batchResponse(11));
  });

  it('up to the configured size is sent plain', async () => {
    const response = await post(requested, batch(10), 'gzip');
    await expectResponse(response, 200, batchResponse(10));
    expect([response.headers.get('content-encoding'), response.headers.get('vary')]).toEqual([null, 'Accept-Encoding']);
  });

  it.each([
    ['gzip', true],
    ['GZip', true],
    ['deflate, gzip;q=0.5, br', true],
    ['gzip ; q=0.001', true],
    ['x-gzip', true],
    ['*', true],
    ['br, *;q=0.1', true],
    ['gzip;q=0', false],
    ['gzip; q=0.000, *', false],
    ['*;q=0', false],
    ['identity', false],
    ['br, deflate', false],
    ['', false],
    ['notgzip', false],
  ])('to a caller of Accept-Encoding “%s” is gzipped: %s', async (acceptEncoding, isGzipped) => {
    const response = await post(requested, batch(50), acceptEncoding);
    expect(response.headers.get('content-encoding')).toBe(isGzipped ? 'gzip' : null);
    expect(await response.text()).toBe(batchResponse(50));
  });

  it('with multi-byte characters decompresses completely', async () => {
    const id = JSON.stringify('é✓😀'.repeat(500));
    const body = `{"jsonrpc":"2.0","id":${id},"method":"eth_getStorageAt","params":["0x${'11'.repeat(20)}","0x0","latest"]}`;
    const bytes = await new Promise<Buffer>((resolve, reject) => {
      const headers = { 'accept-encoding': 'gzip' };
      const outgoing = request(requested.url('main'), { method: 'POST', headers }, (response) => {
        const chunks: Buffer[] = [];
        response
          .on('data', (chunk: Buffer) => chunks.push(chunk))
          .on('end', () => {
            resolve(Buffer.concat(chunks));
          });
      });
      outgoing.on('error', reject).end(body);
    });
    expect(gunzipSync(bytes).toString()).toBe(resultText(id, word));
  });

  it('to notifications only is empty', async () => {
    const response = await post(requested, '{"jsonrpc":"2.0","method":"net_version"}', 'gzip');
    expect([response.status, response.headers.get('content-encoding')]).toEqual([204, null]);
  });
});
