import { writeFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openCaller } from '../../server/websocket/caller.ts';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startIssuer, type Issuer } from './issuer.ts';

const contract = `0x${'ab'.repeat(20)}`;
const other = `0x${'cd'.repeat(20)}`;
let node: FakeNode;
let issuer: Issuer;
beforeAll(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_getBalance: '0x5', acme_getPoints: '0x7' } });
  issuer = await startIssuer();
});
afterAll(async () => {
  await node.close();
  await issuer.close();
});

const main = (): object => network(5, [node.url], { methods: ['eth', 'acme_getPoints'] });

async function start(files: Record<string, object>, bounds: Record<string, string> = {}): Promise<TestGateway> {
  const gateway = await startGateway({ main: main(), ...files }, bounds);
  onTestFinished(() => gateway.stop());
  return gateway;
}

async function statusOf(
  gateway: TestGateway,
  token: string,
  method = 'eth_chainId',
  params: readonly unknown[] = [],
  slug = 'main',
): Promise<number> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${gateway.address}/${slug}/v3`, { method: 'POST', body, headers })).status;
}

describe('the permissions in the claim of a token', () => {
  it('that name a pass-through method do not lift the contracts of the ceiling', async () => {
    const gateway = await start({ auth: { ...issuer.auth, ceiling: { contracts: [contract] } } });
    const token = await issuer.sign({ gatehouse: { methods: ['acme_getPoints', 'eth'] } }, 60);
    expect(await statusOf(gateway, token, 'eth_getBalance', [contract, 'latest'])).toBe(200);
    expect(await statusOf(gateway, token, 'eth_getBalance', [other, 'latest'])).toBe(403);
    expect(await statusOf(gateway, token, 'acme_getPoints', [other])).toBe(403);
    expect(await statusOf(gateway, token, 'acme_getPoints', [contract])).toBe(403);
  });

  it('permit as many sockets as a key has by default, and no more', async () => {
    const gateway = await start({ auth: issuer.auth }, { socketsPerKey: '1' });
    const headers = { authorization: `Bearer ${await issuer.sign({ gatehouse: { sockets: 5 } }, 60)}` };
    const url = `${gateway.address.replace('http', 'ws')}/main/ws/v3`;
    const { socket } = await openCaller(url, { headers });
    await expect(openCaller(url, { headers })).rejects.toThrow('Unexpected server response: 429');
    socket.terminate();
  });
});

describe('a file of the key set', () => {
  const files = (): object => ({ ...issuer.auth, keySet: 'jwks.json' });
  const write = ({ folder }: TestGateway): void => {
    writeFileSync(join(folder, 'jwks.json'), JSON.stringify(issuer.keySet));
  };

  it('that comes after auth.yaml is read, and makes auth.yaml valid', async () => {
    const gateway = await start({});
    gateway.save({ auth: files() });
    await gateway.gateway.reload();
    const token = await issuer.sign({ gatehouse: {} }, 600);
    expect(await statusOf(gateway, token)).toBe(401);
    write(gateway);
    await eventually(async () => (await statusOf(gateway, token)) === 200);
  });

  it('that is missing for a moment stops no reload of another file, but one with another key set', async () => {
    const gateway = await start({});
    write(gateway);
    gateway.save({ auth: files() });
    await gateway.gateway.reload();
    const token = await issuer.sign({ gatehouse: {} }, 600);
    await eventually(async () => (await statusOf(gateway, token)) === 200);
    rmSync(join(gateway.folder, 'jwks.json'));
    gateway.save({ second: main() });
    await gateway.gateway.reload();
    expect(await statusOf(gateway, token, 'eth_chainId', [], 'second')).toBe(200);
    gateway.save({ auth: { ...files(), keySet: 'others.json' }, third: main() });
    await gateway.gateway.reload();
    expect(await statusOf(gateway, token, 'eth_chainId', [], 'third')).toBe(404);
    expect(await statusOf(gateway, token)).toBe(200);
  });
});
