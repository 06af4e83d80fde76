import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { head, openRaw, post } from './raw-connection.ts';

let node: FakeNode;
let gateway: TestGateway;
beforeAll(async () => {
  node = await startFakeNode({ chainId: 5 });
  gateway = await startGateway({ main: network(5, [node.url]) });
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

const inChunks = (text: string): string => text.replaceAll(/./g, '1\r\n$&\r\n');

it('a body in thousands of tiny chunks is served', async () => {
  const connection = await openRaw(gateway.gateway.port);
  const call = '{"jsonrpc":"2.0","id":1,"method":"net_version"}'.padStart(9_000);
  connection.send(
    `${head(`POST /main/v3/${gateway.key}`, { 'transfer-encoding': 'chunked' })}${inChunks(call)}0\r\n\r\n`,
  );
  expect(await connection.response()).toMatchObject({ status: 200 });
  connection.destroy();
});

/** Sends the same on 30 connections. Prints how many of them the gateway has closed: as soon as 20 are, or after 20 s. */
const client = `
  const { connect } = require('node:net');
  const [port, text] = process.argv.slice(1);
  const sockets = Array.from({ length: 30 }, () => connect(Number(port), '127.0.0.1').on('error', () => undefined).resume());
  let closed = 0;
  const end = () => { console.log(closed); process.exit(); };
  for (const socket of sockets) socket.on('close', () => ++closed === 20 && end());
  setTimeout(() => { for (const socket of sockets) socket.write(text); }, 500);
  setTimeout(end, 20_000);`;

it.each([
  ['with a key', () => gateway.key],
  ['without a key', () => 'x'],
])('connections %s that send thousands of tiny chunks at once are closed, but for one in 100 ms', async (_, key) => {
  const request = head(`POST /main/v3/${key()}`, { 'transfer-encoding': 'chunked' }) + inChunks(' '.repeat(10_000));
  const args = ['-e', client, String(gateway.gateway.port), request];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(Number(stdout)).toBeGreaterThanOrEqual(20);
  const metrics = await readMetrics(gateway.address);
  expect(metrics.value('gatehouse_memory_rejections_total', { reason: 'connection' })).toBeGreaterThanOrEqual(20);
  // Node uses the parsers of the closed connections again.
  const calls = Array.from({ length: 50 }, async () => {
    const connection = await openRaw(gateway.gateway.port);
    connection.send(post(`/main/v3/${gateway.key}`, '{"jsonrpc":"2.0","id":1,"method":"net_version"}'));
    const { status } = await connection.response();
    connection.destroy();
    return status;
  });
  expect(new Set(await Promise.all(calls))).toEqual(new Set([200]));
});
