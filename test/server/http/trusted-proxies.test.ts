import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeKey } from '../../../gateway/auth/formats/key.ts';
import { limited, type Limited } from '../../limits/limited.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';

const chain = ['eth_chainId'] as const;

describe('the client’s address', () => {
  const statusFrom = async (one: Limited, forwarded?: string): Promise<number> =>
    (await one.send(chain, forwarded === undefined ? {} : { 'x-forwarded-for': forwarded })).status;

  it('is the right-most address that is not a trusted proxy’s', async () => {
    const one = await limited({ TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8, 2001:db8::/32' });
    await one.setPermissions({ ips: '192.0.2.0/24, fd00::/8' });
    for (const [forwarded, status] of [
      ['192.0.2.7', 200],
      ['192.0.2.7:4711', 200],
      ['::ffff:192.0.2.7', 200],
      ['fd00::1', 200],
      ['[fd00::1]:4711', 200],
      ['192.0.2.7, 10.1.1.1, 2001:db8::5', 200],
      ['198.51.100.1, 192.0.2.7', 200],
      // Clients can write anything in front of their own address.
      ['192.0.2.7, 198.51.100.1', 403],
      ['192.0.2.7, 198.51.100.1, 10.1.1.1', 403],
      ['192.0.2.7, unknown', 403],
      ['192.0.2.7, ', 403],
      ['10.1.1.1', 403],
      ['', 403],
      [undefined, 403],
    ] as const) {
      expect([forwarded, await statusFrom(one, forwarded)]).toEqual([forwarded, status]);
    }
  });

  it('is that of the connection if its proxy is not trusted', async () => {
    for (const env of [{}, { TRUSTED_PROXIES: '10.0.0.0/8' }]) {
      const one = await limited(env);
      await one.setPermissions({ ips: '192.0.2.0/24' });
      expect(await statusFrom(one, '192.0.2.7')).toBe(403);
      await one.setPermissions({ ips: '127.0.0.1' });
      expect(await statusFrom(one, '192.0.2.7')).toBe(200);
    }
  });

  it('is the one by which unknown keys are counted', async () => {
    const one = await limited({ TRUSTED_PROXIES: '127.0.0.1', unknownKeysMax: '3' });
    const guess = async (from: string): Promise<number> => {
      const url = `${one.gateway.address}/test/v3/${makeKey()}`;
      return (await fetch(url, { method: 'POST', body: '{}', headers: { 'x-forwarded-for': from } })).status;
    };
    for (let count = 0; count < 3; count++) expect(await guess('192.0.2.7')).toBe(401);
    expect(await guess('192.0.2.7')).toBe(429);
    expect(await guess('192.0.2.8')).toBe(401);
  });
});

describe('the requested host', () => {
  let node: FakeNode;
  let open: TestGateway;
  let trusting: TestGateway;
  beforeAll(async () => {
    node = await startFakeNode({ chainId: 5 });
    const networks = { main: network(5, [node.url], { baseUrls: ['https://rpc.example.org'] }) };
    open = await startGateway(networks);
    trusting = await startGateway(networks, { TRUSTED_PROXIES: '127.0.0.1' });
  });
  afterAll(async () => {
    await Promise.all([open.stop(), trusting.stop()]);
    await node.close();
  });
  const statusAt = async (gateway: TestGateway, host: string): Promise<number> => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"net_version"}';
    const headers = { 'x-forwarded-host': host };
    return (await fetch(`${gateway.address}/v3/${gateway.key}`, { method: 'POST', body, headers })).status;
  };

  it('is the one that a trusted proxy forwards', async () => {
    expect(await statusAt(trusting, 'rpc.example.org')).toBe(200);
    expect(await statusAt(trusting, 'evil.test, rpc.example.org')).toBe(200);
    expect(await statusAt(trusting, 'rpc.example.org, evil.test')).toBe(404);
    expect(await statusAt(trusting, '')).toBe(404);
    expect(await statusAt(open, 'rpc.example.org')).toBe(404);
  });
});
