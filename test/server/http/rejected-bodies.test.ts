import { describe, expect, it, onTestFinished } from 'vitest';
import { addKey } from '../../routing/two-keys.ts';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { head, openRaw } from './raw-connection.ts';

/** Rejected requests of one key or address whose bodies may still arrive. */
const maxPerHolder = 64;

async function start(): Promise<TestGateway> {
  const node = await startFakeNode({ chainId: 5 });
  const gateway = await startGateway({ main: network(5, [node.url]) });
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
  });
  return gateway;
}

describe('rejected requests whose bodies do not arrive are counted, and closed beyond 64', () => {
  it.each<[name: string, status: number, headOf: (keyPath: string) => string]>([
    ['too long a body, with a key', 413, (path) => head(`POST ${path}`, { 'content-length': 50_000_000 })],
    ['an unknown key', 401, () => head('POST /main/v3/no-key', { 'content-length': 100 })],
    ['an unknown path', 404, () => head('POST /nowhere', { 'content-length': 100 })],
    ['chunks to an unknown path', 404, () => head('POST /nowhere', { 'transfer-encoding': 'chunked' })],
    ['two Host lines', 400, (path) => `POST ${path} HTTP/1.1\r\nhost: a\r\nhost: b\r\ncontent-length: 100\r\n\r\n`],
  ])('%s', async (_, status, headOf) => {
    const gateway = await start();
    const keyPath = new URL(await addKey(gateway, 'main')).pathname;
    let closed = 0;
    const sendHead = async (text: string): Promise<void> => {
      const connection = await openRaw(gateway.gateway.port);
      onTestFinished(() => {
        connection.destroy();
      });
      connection.send(text);
      void connection.closed.then(() => closed++);
      expect((await connection.response()).status).toBe(status);
    };
    for (let count = 0; count < maxPerHolder; count++) await sendHead(headOf(keyPath));
    expect(closed).toBe(0);
    await sendHead(headOf(keyPath));
    await eventually(() => closed === 1);
  });

  it('for each key alone', async () => {
    const gateway = await start();
    const paths = [new URL(await addKey(gateway, 'main')).pathname, new URL(await addKey(gateway, 'main')).pathname];
    let closed = 0;
    for (let count = 0; count < 2 * maxPerHolder; count++) {
      const connection = await openRaw(gateway.gateway.port);
      onTestFinished(() => {
        connection.destroy();
      });
      connection.send(head(`POST ${paths[count % 2] ?? ''}`, { 'content-length': 50_000_000 }));
      void connection.closed.then(() => closed++);
      expect((await connection.response()).status).toBe(413);
    }
    expect(closed).toBe(0);
  });

  it('until their connections are closed, also if nothing says where the body ends', async () => {
    const gateway = await start();
    const open = async (text: string) => {
      const connection = await openRaw(gateway.gateway.port);
      onTestFinished(() => {
        connection.destroy();
      });
      connection.send(text);
      return { connection, status: (await connection.response()).status };
    };
    for (let count = 0; count < maxPerHolder; count++) {
      const { connection, status } = await open(head('POST /main/v3/no-key', { 'transfer-encoding': 'xchunked' }));
      expect(status).toBe(400);
      await connection.closed;
    }
    const { connection, status } = await open(head('POST /main/v3/no-key', { 'content-length': 2 }));
    expect(status).toBe(401);
    // Served on the same connection.
    connection.send(`{}${head('POST /main/v3/no-key', { 'content-length': 0 })}`);
    expect((await connection.response()).status).toBe(401);
  });
});
