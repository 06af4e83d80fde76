import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { errorText, expectResponse, expectRejection, resultText } from './expect-response.ts';
import { head, openRaw, post as rawPost, type RawConnection } from './raw-connection.ts';
import { staysTrueFor } from '../../support/eventually.ts';

const call = '{"jsonrpc":"2.0","id":1,"method":"net_version"}';
const rpcResponse = resultText('1', '5');
const tooLarge = 'body too large: at most 5000000 bytes are allowed';
const broken = 'parse error: the body is not gzip, as its Content-Encoding says';

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway({ main: network(5, ['http://127.0.0.1:1']) });
});
afterAll(() => gateway.stop());

const path = (): string => `/main/v3/${gateway.key}`;

function post(body: Buffer, encoding = 'gzip'): Promise<Response> {
  const headers = { 'content-encoding': encoding };
  return fetch(gateway.url('main'), { method: 'POST', body: new Uint8Array(body), headers });
}

async function open(headers: Record<string, string | number>): Promise<RawConnection> {
  const connection = await openRaw(gateway.gateway.port);
  connection.send(head(`POST ${path()}`, { 'content-encoding': 'gzip', ...headers }));
  return connection;
}

function chunk(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

describe('a body in gzip', () => {
  it.each(['gzip', 'GZIP', 'x-gzip', ' gzip '])('of the encoding “%s” is read', async (encoding) => {
    await expectResponse(await post(gzipSync(call), encoding), 200, rpcResponse);
  });

  it('is read completely: many parts, multi-byte characters, several gzip members', async () => {
    const id = JSON.stringify('é✓😀'.repeat(50_000) + randomBytes(500_000).toString('base64'));
    const batch = `[{"jsonrpc":"2.0","id":${id},"method":"net_version"}]`;
    await expectResponse(await post(gzipSync(batch)), 200, `[${resultText(id, '5')}]`);
    const members = Buffer.concat([gzipSync(call.slice(0, 20)), gzipSync(call.slice(20))]);
    await expectResponse(await post(members), 200, rpcResponse);
  });

  it('may arrive byte by byte, and the connection stays usable', async () => {
    const connection = await open({ 'transfer-encoding': 'chunked' });
    for (const byte of gzipSync(call)) {
      connection.send(chunk(Buffer.of(byte)));
      await new Promise(setImmediate);
    }
    connection.send('0\r\n\r\n');
    expect(await connection.response()).toMatchObject({ status: 200, body: rpcResponse });
    connection.send(rawPost(path(), call));
    expect(await connection.response()).toMatchObject({ status: 200, body: rpcResponse });
    connection.destroy();
  });

  it('of 5,000,000 decompressed bytes is read, one of a byte more is rejected with 413', async () => {
    await expectResponse(await post(gzipSync(call.padEnd(5_000_000))), 200, rpcResponse);
    await expectRejection(await post(gzipSync(call.padEnd(5_000_001))), 413, -32600, tooLarge);
  });

  it('that is a decompression bomb is rejected while it arrives, long before it is decompressed', async () => {
    // 4 MB that decompress to 4 GB, without an end.
    const members = Array.from({ length: 10 }, () => gzipSync(Buffer.alloc(10_000_000), { level: 9 }));
    const part = chunk(Buffer.concat(members));
    const connection = await open({ 'transfer-encoding': 'chunked' });
    const before = process.cpuUsage();
    for (let count = 0; count < 40; count++) connection.send(part);
    const { status, body } = await connection.response();
    expect([status, body]).toEqual([413, errorText(-32600, tooLarge)]);
    // The first 5 MB take about 20 ms to decompress, all of it some 10 s. Other parts of the test use CPU too.
    await staysTrueFor(500, () => process.cpuUsage(before).user < 2_000_000);
    connection.destroy();
  });

  it('that is rejected leaves its connection usable', async () => {
    const connection = await openRaw(gateway.gateway.port);
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    for (const [body, status] of [[bomb, 413] as const, [randomBytes(300_000), 400] as const]) {
      connection.send(head(`POST ${path()}`, { 'content-encoding': 'gzip', 'content-length': body.length }));
      connection.send(body);
      expect(await connection.response()).toMatchObject({ status });
      connection.send(rawPost(path(), call));
      expect(await connection.response()).toMatchObject({ status: 200, body: rpcResponse });
    }
    connection.destroy();
  });

  it('that is too large as received is rejected, however little it decompresses to', async () => {
    const announced = await open({ 'content-length': 5_000_001 });
    expect(await announced.response()).toMatchObject({ status: 413, body: errorText(-32600, tooLarge) });
    announced.destroy();
    // A header with an endless file name (RFC 1952 §2.3: FLG.FNAME) decompresses to nothing.
    const endless = await open({ 'transfer-encoding': 'chunked' });
    endless.send(chunk(Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3])));
    for (let count = 0; count < 6; count++) endless.send(chunk(Buffer.alloc(1_000_000, 'x')));
    expect(await endless.response()).toMatchObject({ status: 413, body: errorText(-32600, tooLarge) });
    endless.destroy();
  });

  it.each([
    ['not gzip at all', Buffer.from(call)],
    ['truncated', gzipSync(call).subarray(0, -10)],
    ['truncated within its header', gzipSync(call).subarray(0, 5)],
    ['of a wrong checksum', Buffer.concat([gzipSync(call).subarray(0, -8), Buffer.alloc(8, 1)])],
  ])('that is %s is rejected with 400', async (_, body) => {
    await expectRejection(await post(body), 400, -32700, broken);
  });

  it('that is empty, plain or compressed, is a parse error', async () => {
    for (const body of [Buffer.alloc(0), gzipSync('')]) {
      const response = await post(body);
      expect(response.status).toBe(400);
      expect(await response.text()).toContain('"code":-32700,"message":"parse error: ');
    }
  });

  it('whose client disconnects within it does not affect other clients', async () => {
    const connection = await open({ 'content-length': 1_000 });
    connection.send(gzipSync(call).subarray(0, 20));
    connection.socket.resetAndDestroy();
    await expectResponse(await post(gzipSync(call)), 200, rpcResponse);
  });

  it('is rejected, and Node’s own client gets the response while it still sends', async () => {
    const received = await new Promise((resolve, reject) => {
      const headers = { 'content-encoding': 'gzip' };
      const outgoing = request(gateway.url('main'), { method: 'POST', headers, agent: false }, (response) => {
        response.on('error', reject).resume();
        resolve(response.statusCode);
      });
      outgoing.on('error', reject).end(randomBytes(4_000_000));
    });
    expect(received).toBe(400);
  });
});
