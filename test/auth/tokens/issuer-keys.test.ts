import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FetchRequest, JsonRpcProvider } from 'ethers';
import type { JWK } from 'jose';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPublicClient, http } from 'viem';
import { WebSocket } from 'ws';
import { elasticClock } from '../../support/elastic-clock.ts';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { freePort } from '../../support/redis.ts';
import { issuerName, startIssuer, type Issuer } from './issuer.ts';

const chainId = 5;
const call = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
const claims = { gatehouse: { methods: ['eth'] } };
const rules = { issuer: issuerName, audience: 'gatehouse', clockToleranceS: 0 };

let folder: string;
let node: FakeNode;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-issuer-keys-'));
  node = await startFakeNode({ chainId });
});
afterAll(async () => {
  await node.close();
  rmSync(folder, { recursive: true });
});

async function statusOf(gateway: TestGateway, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${gateway.address}/main/v3`, { method: 'POST', body: call, headers })).status;
}

describe('with a key set in a file', () => {
  let issuer: Issuer;
  let gateway: TestGateway;
  const publish = (keys: readonly JWK[]): Promise<void> => {
    writeFileSync(join(folder, 'jwks.json~'), JSON.stringify({ keys }));
    renameSync(join(folder, 'jwks.json~'), join(folder, 'jwks.json'));
    // The file is read once a second.
    return elasticClock().advance(1_000);
  };
  beforeAll(async () => {
    issuer = await startIssuer();
    await publish(issuer.keySet.keys);
    const auth = { ...rules, keySet: join(folder, 'jwks.json'), clockToleranceS: 30, tokensInPath: true };
    gateway = await startGateway({ main: network(chainId, [node.url]), auth });
  });
  afterAll(async () => {
    await gateway.stop();
    await issuer.close();
  });

  it('a removed key ends cached tokens and open WebSockets that it verified', async () => {
    const token = await issuer.sign(claims, 60);
    const url = `${gateway.address.replace('http', 'ws')}/main/ws/v3`;
    const socket = new WebSocket(url, ['gatehouse.jwt', token]);
    await once(socket, 'open');
    expect(await statusOf(gateway, token)).toBe(200);
    const closed = once(socket, 'close') as Promise<[number, Buffer]>;
    await issuer.rotate();
    await publish(issuer.keySet.keys.slice(1));
    await eventually(async () => (await statusOf(gateway, token)) === 401);
    const [code, reason] = await closed;
    expect([code, reason.toString()]).toEqual([1008, 'invalid token']);
    expect(await statusOf(gateway, await issuer.sign(claims, 60))).toBe(200);
  });

  it('a token without kid is verified with each key that fits', async () => {
    const tokens = [await issuer.sign(claims, 60, false)];
    await issuer.rotate();
    tokens.push(await issuer.sign(claims, 60, false));
    await publish(issuer.keySet.keys);
    await eventually(async () => (await statusOf(gateway, tokens[1] ?? '')) === 200);
    expect(await statusOf(gateway, tokens[0] ?? '')).toBe(200);
    const stranger = await startIssuer();
    expect(await statusOf(gateway, await stranger.sign(claims, 60, false))).toBe(401);
    await stranger.close();
  });

  it('the life of a token in a URL does not include the clock tolerance', async () => {
    const token = await issuer.sign(claims, 895);
    const socket = new WebSocket(`${gateway.address.replace('http', 'ws')}/main/ws/v3/${token}`);
    await once(socket, 'open');
    expect(socket.readyState).toBe(WebSocket.OPEN);
    socket.terminate();
  });

  it('a preflight takes no token in the path, as its call does not', async () => {
    const origin = 'https://wallet.example';
    const token = await issuer.sign({ gatehouse: { origins: [origin] } }, 60);
    const headers = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-private-network': 'true',
    };
    const response = await fetch(`${gateway.address}/main/v3/${token}`, { method: 'OPTIONS', headers });
    expect(response.headers.get('access-control-allow-private-network')).toBeNull();
  });

  const clients: [name: string, open: (token: () => Promise<string>) => () => Promise<bigint>][] = [
    [
      'viem',
      (token) => {
        const transport = http(`${gateway.address}/main/v3`, {
          retryCount: 0,
          onFetchRequest: async (_, init) => {
            const headers = new Headers(init.headers);
            headers.set('authorization', `Bearer ${await token()}`);
            return { ...init, headers };
          },
        });
        const client = createPublicClient({ transport });
        return async () => BigInt(await client.getChainId());
      },
    ],
    [
      'ethers',
      (token) => {
        const request = new FetchRequest(`${gateway.address}/main/v3`);
        request.preflightFunc = async (each) => {
          each.setHeader('authorization', `Bearer ${await token()}`);
          return each;
        };
        const provider = new JsonRpcProvider(request, chainId, { staticNetwork: true });
        return async () => BigInt((await provider.send('eth_chainId', [])) as string);
      },
    ],
  ];
  it.each(clients)('%s calls with new tokens through the rotation of the key', async (_, open) => {
    let [token, calls] = ['', 0];
    const send = open(async () => {
      if (calls++ % 5 === 0) token = await issuer.sign(claims, 60);
      return token;
    });
    expect(await send()).toBe(5n);
    const first = token;
    await issuer.rotate();
    await publish(issuer.keySet.keys);
    await eventually(async () => (await statusOf(gateway, await issuer.sign(claims, 60))) === 200);
    for (let count = 0; count < 12; count++) expect(await send()).toBe(5n);
    expect(token).not.toBe(first);
    await publish(issuer.keySet.keys.slice(-1));
    await eventually(async () => (await statusOf(gateway, first)) === 401);
    expect(await send()).toBe(5n);
  });
});

describe('auth.yaml', () => {
  let issuer: Issuer;
  let gateway: TestGateway;
  let log = '';
  beforeAll(async () => {
    issuer = await startIssuer();
    const lines = pino({ level: 'info' }, { write: (line: string) => void (log += line) });
    gateway = await startGateway({ main: network(chainId, [node.url]) }, {}, lines);
  });
  afterAll(async () => {
    await gateway.stop();
    await issuer.close();
  });
  const save = async (auth: object | string | undefined): Promise<void> => {
    gateway.save({ auth });
    await gateway.gateway.reload();
  };
  const open = async (token: string): Promise<WebSocket> => {
    const socket = new WebSocket(`${gateway.address.replace('http', 'ws')}/main/ws/v3`, ['gatehouse.jwt', token]);
    await once(socket, 'open');
    return socket;
  };

  it('is followed by a running gateway, and its tokens are rejected without it', async () => {
    const token = await issuer.sign({ gatehouse: 'app' }, 60);
    expect(await statusOf(gateway, token)).toBe(401);
    await save({ ...issuer.auth, plans: { app: { methods: ['eth'] } } });
    expect(await statusOf(gateway, token)).toBe(200);
    const socket = await open(token);
    const closed = once(socket, 'close') as Promise<[number]>;
    await save(undefined);
    expect(await statusOf(gateway, token)).toBe(401);
    expect((await closed)[0]).toBe(1008);
  });

  it('that is invalid leaves the former one active, and the log has the position', async () => {
    await save({ ...issuer.auth, plans: { app: { methods: ['eth'] } } });
    const token = await issuer.sign({ gatehouse: 'app' }, 60);
    expect(await statusOf(gateway, token)).toBe(200);
    await save(`issuer: ${issuer.auth.issuer}\naudience: gatehouse\nkeySet: ${issuer.auth.keySet}\nplan: {}\n`);
    expect(await statusOf(gateway, token)).toBe(200);
    expect(log).toMatch(/auth\.yaml:4:1 plan is not known; did you mean plans/);
  });

  it('another plan applies at once to cached tokens, and to open WebSockets', async () => {
    await save({ ...issuer.auth, plans: { app: { methods: ['eth'] } } });
    const token = await issuer.sign({ gatehouse: 'app' }, 60);
    const socket = await open(token);
    const fetches = issuer.fetches();
    await save({ ...issuer.auth, plans: { app: { methods: ['net'] } } });
    expect(await statusOf(gateway, token)).toBe(403);
    expect(issuer.fetches()).toBe(fetches);
    const send = async (): Promise<string> => {
      socket.send(call);
      const [data] = (await once(socket, 'message')) as [Buffer];
      return data.toString();
    };
    await eventually(async () => (await send()).includes('error'));
    expect(await send()).toContain('"code":-32002');
    socket.terminate();
  });
});

describe('with a key set at a URL', () => {
  it('an outage is logged once, costs the issuer few requests, and limits an address', async () => {
    const issuer = await startIssuer();
    const port = await freePort();
    let log = '';
    const lines = pino({ level: 'info' }, { write: (line: string) => void (log += line) });
    const auth = { ...rules, keySet: `http://127.0.0.1:${port}/jwks.json` };
    const gateway = await startGateway({ main: network(chainId, [node.url]), auth }, { unknownKeysMax: '5' }, lines);
    let fetches = 0;
    let isUp = false;
    const server = createServer((_, response) => {
      fetches += 1;
      response.writeHead(isUp ? 200 : 500).end(JSON.stringify(issuer.keySet));
    });
    try {
      await eventually(() => log.includes('the keys of the token issuer cannot be read'));
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      const statuses: number[] = [];
      for (let n = 0; n < 7; n += 1) statuses.push(await statusOf(gateway, await issuer.sign({ ...claims, n }, 60)));
      expect(statuses).toEqual([503, 503, 503, 503, 503, 429, 429]);
      expect(fetches).toBe(0);
      const token = await issuer.sign(claims, 60);
      // A token with an unknown key causes one read in 10 s.
      await elasticClock().advance(10_000);
      expect([await statusOf(gateway, token), fetches]).toEqual([503, 1]);
      isUp = true;
      await elasticClock().advance(10_000);
      expect([await statusOf(gateway, token), fetches]).toEqual([200, 2]);
      expect(log.split('the keys of the token issuer cannot be read').length - 1).toBe(1);
      expect(log).toContain('the keys of the token issuer can be read again');
    } finally {
      await gateway.stop();
      server.closeAllConnections();
      server.close();
      await issuer.close();
    }
  });
});
