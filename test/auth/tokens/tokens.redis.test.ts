import { once } from 'node:events';
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignJWT, UnsecuredJWT } from 'jose';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { eventually, SOON_MS } from '../../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startRedis, type RedisServer } from '../../support/redis.ts';
import { runKeys } from '../run-keys.ts';
import { issuerName, startIssuer, type Issuer } from './issuer.ts';

const chainId = 5;
const call = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
/** A call of one unit. */
const unit = '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice","params":[]}';
const plans = {
  plans: {
    free: { rate: 1000, methods: ['eth'] },
    support: { permissions: 'explain' },
    tiny: { rate: 0.1, burst: 2 },
  },
  ceiling: { rate: 0.1, burst: 3, networks: ['main'] },
};

let folder: string;
let redis: RedisServer;
let node: FakeNode;
let issuer: Issuer;
let gateway: TestGateway;
let other: TestGateway;
let log = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-tokens-'));
  [redis, node, issuer] = await Promise.all([startRedis(), startFakeNode({ chainId }), startIssuer()]);
  const lines = pino({ level: 'trace' }, { write: (line: string) => void (log += line) });
  const env = {
    REDIS_URL: redis.url,
    ACCESS_LOG: 'on',
    // A test waits for a new key with one token, which is unknown for 10 s.
    unknownKeysMax: '100000',
  };
  const auth = { ...issuer.auth, ...plans, tokensInPath: true, clockToleranceS: 0 };
  const networks = { main: network(chainId, [node.url]), second: network(chainId, [node.url]), auth };
  gateway = await startGateway(networks, env, lines);
  other = await startGateway(networks, env, lines);
});
afterAll(async () => {
  await Promise.all([gateway.stop(), other.stop()]);
  await Promise.all([node.close(), issuer.close(), redis.stop()]);
  rmSync(folder, { recursive: true });
});

interface Sent {
  readonly status: number;
  readonly result?: unknown;
  readonly message?: string;
}

async function send(token: string, { at = gateway, body = call, path = '/main/v3' } = {}): Promise<Sent> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${at.address}${path}`, { method: 'POST', body, headers });
  const { result, error } = (await response.json()) as { result?: unknown; error?: { code: number; message: string } };
  if (error === undefined) return { status: response.status, result };
  return { status: response.status, message: error.message };
}

describe('a token in Authorization: Bearer', () => {
  it('is accepted with a plan or with permissions in its claim', async () => {
    for (const gatehouse of ['free', { methods: ['eth_chainId'] }, { methods: 'eth', rate: 50 }]) {
      expect(await send(await issuer.sign({ gatehouse }, 60))).toEqual({ status: 200, result: '0x5' });
    }
  });

  const rejected: [what: string, claims: Record<string, unknown>, lifeS: number | undefined, message: RegExp][] = [
    ['has expired', { gatehouse: 'free' }, -1, /expired/],
    ['has no exp', { gatehouse: 'free' }, undefined, /exp is missing/],
    ['has another issuer', { gatehouse: 'free', iss: 'https://evil.example' }, 60, /iss is not valid/],
    ['is for another audience', { gatehouse: 'free', aud: 'shop' }, 60, /aud is not valid/],
    ['has no claim, and there is no default plan', {}, 60, /needs permissions/],
    ['names an unknown plan', { gatehouse: 'gold' }, 60, /plan .* unknown/],
    ['grants itself a capability', { gatehouse: { permissions: 'explain' } }, 60, /may not have permissions/],
    ['joins a team', { gatehouse: { team: 'core' } }, 60, /may not have team/],
    ['has a number as subject', { gatehouse: 'free', sub: 17 }, 60, /claim sub is not valid/],
    ['has an empty id', { gatehouse: 'free', jti: '' }, 60, /claim jti is not valid/],
    ['has an unknown field', { gatehouse: { rat: 5 } }, 60, /may not have rat/],
    ['has an invalid value', { gatehouse: { rate: 'much' } }, 60, /permissions .* are invalid/],
  ];
  it.each(rejected)('that %s is 401', async (_, claims, lifeS, message) => {
    const sent = await send(await issuer.sign(claims, lifeS));
    expect(sent).toMatchObject({ status: 401, message: expect.stringMatching(message) as string });
  });

  it('without a signature of the issuer is 401', async () => {
    const claims = { iss: issuerName, aud: 'gatehouse', sub: 'user-17', gatehouse: 'free' };
    const unsigned = new UnsecuredJWT(claims).setExpirationTime('1m').encode();
    const secret = Buffer.from(JSON.stringify(issuer.keySet.keys[0]));
    const symmetric = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid: 'key-1' })
      .setExpirationTime('1m')
      .sign(secret);
    const valid = await issuer.sign({ gatehouse: 'free' }, 60);
    const altered = `${valid.slice(0, -4)}${valid.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`;
    for (const token of [unsigned.replace(/\.$/, '.AAAA'), symmetric, altered]) {
      expect(await send(token)).toMatchObject({
        status: 401,
        message: expect.stringMatching(/signature|invalid/) as string,
      });
    }
  });

  it('has permissions below the ceiling, but a plan has none', async () => {
    const claim = await issuer.sign({ sub: 'greedy', gatehouse: { rate: 1000, burst: 1000 } }, 60);
    const outcomes: number[] = [];
    for (let n = 0; n < 5; n += 1) outcomes.push((await send(claim, { body: unit })).status);
    expect(outcomes).toEqual([200, 200, 200, 429, 429]);
    expect(await send(claim, { path: '/second/v3' })).toMatchObject({ status: 403 });
    const plan = await issuer.sign({ sub: 'friend', gatehouse: 'free' }, 60);
    expect(await send(plan, { path: '/second/v3' })).toMatchObject({ status: 200 });
  });

  it('counts for its subject, on all gateways and with each of its tokens', async () => {
    const first = await issuer.sign({ sub: 'two-tokens', gatehouse: 'tiny' }, 60);
    const second = await issuer.sign({ sub: 'two-tokens', gatehouse: 'tiny', jti: 'x' }, 60);
    expect((await send(first, { body: unit })).status).toBe(200);
    expect((await send(second, { at: other, body: unit })).status).toBe(200);
    expect((await send(first, { at: other, body: unit })).status).toBe(429);
  });

  it('ends at its time, although it is cached', async () => {
    const token = await issuer.sign({ gatehouse: 'free' }, 4);
    expect((await send(token)).status).toBe(200);
    await eventually(async () => (await send(token)).status === 401, 10_000);
  });

  it('without the form of a token is 401, also beside a valid key', async () => {
    for (const authorization of [
      'Bearer',
      'Bearer ',
      'Bearer x',
      'Bearer a.b',
      'bearer a b',
      `Bearer ${gateway.key}`,
    ]) {
      for (const path of ['/main/v3', `/main/v3/${gateway.key}`]) {
        const headers = { authorization };
        const response = await fetch(`${gateway.address}${path}`, { method: 'POST', body: call, headers });
        expect([authorization, response.status]).toEqual([authorization, 401]);
      }
    }
  });

  it('has at most 256 requests in flight, whatever its claim says', async () => {
    const requests: ClientRequest[] = [];
    const slow = await startGateway({ main: network(chainId, [node.url]), auth: issuer.auth });
    try {
      const token = await issuer.sign({ gatehouse: { concurrency: 1000 } }, 60);
      const headers = { authorization: `Bearer ${token}` };
      // The bodies do not arrive before the rejection, so that requests stay in flight.
      const opened = Array.from({ length: 257 }, async () => {
        const request = httpRequest(`${slow.address}/main/v3`, { method: 'POST', headers, agent: false });
        request.flushHeaders();
        request.on('error', () => undefined);
        requests.push(request);
        const [response] = (await once(request, 'response')) as [IncomingMessage];
        return response;
      });
      const first = await Promise.race(opened);
      expect([first.statusCode, first.headers['ratelimit-limit'] ?? first.headers['x-ratelimit-limit']]).toEqual([
        429,
        '256',
      ]);
    } finally {
      for (const request of requests) request.destroy();
      await slow.stop();
    }
  });

  it('in the path of a call is 401, and so is a token beside another key', async () => {
    const token = await issuer.sign({ gatehouse: 'free' }, 60);
    const response = await fetch(`${gateway.address}/main/v3/${token}`, { method: 'POST', body: call });
    expect(response.status).toBe(401);
    expect(await send(token, { path: `/main/v3/${gateway.key}` })).toMatchObject({ status: 401 });
  });
});

describe('keys of the issuer', () => {
  it('that are new are fetched, but not for each unknown kid', async () => {
    const before = issuer.fetches();
    await issuer.rotate();
    const token = await issuer.sign({ gatehouse: 'free' }, 60);
    for (const at of [gateway, other]) await eventually(async () => (await send(token, { at })).status === 200);
    const stranger = await startIssuer();
    try {
      for (let n = 0; n < 3; n += 1) await stranger.rotate();
      for (let n = 0; n < 20; n += 1) {
        expect((await send(await stranger.sign({ gatehouse: 'free', jti: `${n}` }, 60))).status).toBe(401);
      }
    } finally {
      await stranger.close();
    }
    expect(issuer.fetches() - before).toBeLessThanOrEqual(2);
  });
});

describe('a revocation', () => {
  it('of a subject, or of one token, holds on all gateways within a second', async () => {
    const one = await issuer.sign({ sub: 'thief', jti: 'stolen', gatehouse: 'free' }, 60);
    const two = await issuer.sign({ sub: 'thief', jti: 'own', gatehouse: 'free' }, 60);
    for (const at of [gateway, other])
      for (const token of [one, two]) expect((await send(token, { at })).status).toBe(200);
    const env = { REDIS_URL: redis.url, DATA_DIR: folder, NETWORKS_DIR: gateway.folder };
    expect(await runKeys(env, ['revoke-tokens', '--jti', 'stolen'])).toMatchObject({ exitCode: 0 });
    for (const at of [gateway, other]) {
      await eventually(async () => (await send(one, { at })).status === 401, SOON_MS);
      expect((await send(two, { at })).status).toBe(200);
    }
    expect(await runKeys(env, ['revoke-tokens', '--subject', 'thief'])).toMatchObject({ exitCode: 0 });
    for (const at of [gateway, other]) await eventually(async () => (await send(two, { at })).status === 401, SOON_MS);
  });
});

describe('a WebSocket', () => {
  const url = (path = '/main/ws/v3'): string => `${gateway.address.replace('http', 'ws')}${path}`;

  it('takes a token in its subprotocols, of which the first is echoed', async () => {
    const socket = new WebSocket(url(), ['gatehouse.jwt', await issuer.sign({ gatehouse: 'free' }, 60)]);
    await once(socket, 'open');
    expect(socket.protocol).toBe('gatehouse.jwt');
    socket.send(call);
    const [data] = (await once(socket, 'message')) as [Buffer];
    expect(JSON.parse(data.toString())).toEqual({ jsonrpc: '2.0', id: 1, result: '0x5' });
    socket.terminate();
  });

  it('takes a short-lived token in its path, and no other', async () => {
    const open = new WebSocket(url(`/main/ws/v3/${await issuer.sign({ gatehouse: 'free' }, 600)}`));
    await once(open, 'open');
    open.terminate();
    const long = new WebSocket(url(`/main/ws/v3/${await issuer.sign({ gatehouse: 'free' }, 910)}`));
    const [error] = (await once(long, 'error')) as [Error];
    expect(error.message).toContain('401');
  });

  it('has its first subprotocol echoed, whatever it is', async () => {
    const socket = new WebSocket(url(`/main/ws/v3/${gateway.key}`), ['jsonrpc', 'other']);
    await once(socket, 'open');
    expect(socket.protocol).toBe('jsonrpc');
    socket.terminate();
  });

  it('takes no key in its subprotocols', async () => {
    const socket = new WebSocket(url(), ['gatehouse.jwt', gateway.key]);
    const [error] = (await once(socket, 'error')) as [Error];
    expect(error.message).toContain('401');
  });

  it('closes when its token ends, and when its subject is revoked', async () => {
    const short = new WebSocket(url(), ['gatehouse.jwt', await issuer.sign({ gatehouse: 'free' }, 4)]);
    const long = new WebSocket(url(), ['gatehouse.jwt', await issuer.sign({ sub: 'late', gatehouse: 'free' }, 60)]);
    const closed = once(short, 'close') as Promise<[number, Buffer]>;
    await Promise.all([once(short, 'open'), once(long, 'open')]);
    const [code, reason] = await closed;
    expect([code, reason.toString()]).toEqual([1008, 'invalid token']);
    const end = once(long, 'close') as Promise<[number, Buffer]>;
    await runKeys({ REDIS_URL: redis.url, DATA_DIR: folder, NETWORKS_DIR: gateway.folder }, [
      'revoke-tokens',
      '--subject',
      'late',
    ]);
    expect((await end)[0]).toBe(1008);
  });
});

it('no log line has a token or a subject', async () => {
  const token = await issuer.sign({ sub: 'secret-subject', jti: 'secret-jti', gatehouse: 'free' }, 60);
  await send(token);
  await eventually(() => log.includes('"msg":"request"'));
  for (const text of [token, 'secret-subject', 'secret-jti', 'user-17']) expect(log).not.toContain(text);
});
