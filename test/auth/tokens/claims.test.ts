import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
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
});
