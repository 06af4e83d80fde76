import { readdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { openCaller } from '../server/websocket/caller.ts';
import { ScriptedChain } from '../subscriptions/scripted-chain.ts';
import { slow } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network } from '../support/gateway.ts';
import { freePort } from '../support/redis.ts';
import { Workplace, type Gateway } from './gateway-process.ts';

const token = 'T0ken-0f-an-operator';
const word = `0x${'2a'.padStart(64, '0')}`;
/** Twice as many connections as workers would do, if one worker were not busy at that moment. */
const CONNECTIONS = 12;

interface Reply {
  readonly status: number;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

let chain: ScriptedChain;
let node: FakeNode;
/** It returns other balances than `node`. */
let other: FakeNode;
let place: Workplace;
let gateway: Gateway;
let ops: string;
let key: string;

/** Ids of the processes whose parent is this one, the oldest first. */
function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent)
    .sort((one, other) => one - other);
}

function parentOf(pid: number): number | undefined {
  try {
    // The name of the program may have spaces and brackets.
    const [, fields = ''] = /\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return Number(fields);
  } catch {
    return undefined;
  }
}

/**
 * A call over a connection of its own, or of the agent: each new connection goes to the next worker.
 * @param of the key; empty: none
 */
function call(
  method: string,
  params: unknown = [],
  of = key,
  slug = 'main',
  agent: Agent | false = false,
  address = gateway.address,
): Promise<Reply> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const sent = request(`${address}/${slug}/v3${of && `/${of}`}`, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => {
        const isJson = response.headers['content-type']?.includes('json') === true;
        resolve({ status: response.statusCode ?? 0, ...(isJson && (JSON.parse(text) as object)) });
      });
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const storage = (of = key, slug = 'main'): Promise<Reply> =>
  call('eth_getStorageAt', [`0x${'12'.repeat(20)}`, '0x0', 'latest'], of, slug);

/** The same call over many connections, which reach all workers. */
function onAll<Result>(send: () => Promise<Result>): Promise<Result[]> {
  return Promise.all(Array.from({ length: CONNECTIONS }, () => send()));
}

async function admin(path: string, body: object, verb = 'POST'): Promise<Record<string, unknown>> {
  const response = await fetch(`${ops}/admin${path}`, {
    method: verb,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Record<string, unknown>;
}

async function createKey(rules: object = {}): Promise<{ key: string; id: string }> {
  return (await admin('/keys', { name: 'test', rules })) as { key: string; id: string };
}

/** Sends calls until all are 429, and at least `size` were served: a worker may not know a new key yet, which is 401. */
async function servedOf(send: () => Promise<Reply>, size: number): Promise<number> {
  let served = 0;
  await eventually(async () => {
    const replies = await Promise.all(Array.from({ length: 3 * CONNECTIONS }, () => send()));
    served += replies.filter(({ status }) => status === 200).length;
    return served >= size && replies.every(({ status }) => status === 429);
  });
  return served;
}

async function valueOf(name: string, labels?: Record<string, string>): Promise<number> {
  return (await readMetrics(ops)).value(name, labels) ?? 0;
}

const bothListen = async (): Promise<boolean> => (await valueOf('gatehouse_workers')) === 2;

beforeAll(async () => {
  chain = new ScriptedChain();
  const responses = { ...chain.responses(), eth_getStorageAt: word };
  node = await startFakeNode({ chainId: 10, responses: { ...responses, eth_getBalance: '0x1' } });
  other = await startFakeNode({ chainId: 10, responses: { ...responses, eth_getBalance: '0x2' } });
  const returnsNothing = { rate: 0.001, burst: 25 };
  place = new Workplace().withNetworks({
    main: network(10, [node.url]),
    differing: network(10, [node.url, other.url], { agree: { eth_getBalance: 2 }, hedge: 'off' }),
    address: network(10, [node.url], { public: returnsNothing }),
    addresses: network(10, [node.url], { public: { total: returnsNothing } }),
  });
  const opsPort = await freePort();
  ops = `http://127.0.0.1:${opsPort}`;
  gateway = await place.start({ WORKERS: '2', OPS_PORT: String(opsPort), ADMIN_TOKEN: token });
  await eventually(bothListen);
  ({ key } = await createKey());
  await eventually(async () => (await onAll(storage)).every(({ status }) => status === 200));
}, 120_000);
afterAll(async () => {
  await place.close();
  await Promise.all([node.close(), other.close()]);
});
beforeEach(async () => {
  node.always(undefined);
  await eventually(bothListen);
});

/** Calls of both workers. */
const served = (): Promise<number> =>
  valueOf('gatehouse_calls_total', { method: 'eth_getStorageAt', outcome: 'result' });

describe('two workers', () => {
  it('serve one port, and are one gateway on the metrics page', async () => {
    const before = await served();
    const replies = await onAll(storage);
    expect(replies.every(({ result }) => result === word)).toBe(true);
    expect(childrenOf(gateway.pid)).toHaveLength(2);
    for (let scraped = 0; scraped < 4; scraped++) expect(await served()).toBe(before + CONNECTIONS);
  });

  it('poll the heads of an upstream once', async () => {
    await onAll(storage);
    const polls = (): number =>
      node.callsOf('eth_getBlockByNumber').filter(({ params }) => (params as [string])[0] === 'latest').length;
    const [start, startedAt] = [polls(), performance.now()];
    while (polls() < start + 3) await onAll(storage);
    // Each 2 s, less a tenth: two pollers would need half of the time.
    expect(performance.now() - startedAt).toBeGreaterThan(2 * 1_800 * 0.9);
  }, 60_000);

  it('serve a key its daily quota, to the last call', async () => {
    const { key: limited } = await createKey({ daily: 40 });
    let taken = 0;
    // A worker may not know the new key yet: then it is 401.
    await eventually(async () => {
      const replies = await Promise.all(Array.from({ length: 90 }, () => storage(limited)));
      taken += replies.filter(({ status }) => status === 200).length;
      return replies.every(({ status }) => status === 429);
    });
    expect(taken).toBe(40);
  });

  it('serve a key its burst, and a team its quota, to the last call', async () => {
    const { key: bursting } = await createKey({ rate: 0.001, burst: 25 });
    expect(await servedOf(() => storage(bursting), 25)).toBe(25);
    const members = [await createKey({ team: 'one', daily: 25 }), await createKey({ team: 'one', daily: 25 })];
    let turn = 0;
    expect(await servedOf(() => storage(members[turn++ % 2]?.key), 25)).toBe(25);
  });

  it('count for a rotated key what the earlier one has used', async () => {
    const { key: first, id } = await createKey({ daily: 25 });
    expect(await servedOf(() => storage(first), 25)).toBe(25);
    const { key: rotated } = (await admin(`/keys/${id}/rotate`, {})) as { key: string };
    expect(await servedOf(() => storage(rotated), 0)).toBe(0);
  });

  it('serve addresses without a key, and all of them together, their burst to the last call', async () => {
    expect(await servedOf(() => storage('', 'address'), 25)).toBe(25);
    expect(await servedOf(() => storage('', 'addresses'), 25)).toBe(25);
  });

  it('apply changed permissions of a key', async () => {
    const { key: changed, id } = await createKey();
    const all = (status: number): Promise<number> =>
      eventually(async () => (await onAll(() => storage(changed))).every((reply) => reply.status === status));
    await all(200);
    await admin(`/keys/${id}`, { rules: { methods: ['eth_chainId'] } }, 'PATCH');
    await all(403);
    await admin(`/keys/${id}`, { rules: { methods: null } }, 'PATCH');
    await all(200);
  });

  it('close the sockets of a revoked key', async () => {
    const { key: revoked, id } = await createKey();
    await eventually(async () => (await onAll(() => storage(revoked))).every(({ status }) => status === 200));
    const callers = await Promise.all(
      Array.from({ length: 4 }, () => openCaller(`${gateway.address.replace('http', 'ws')}/main/ws/v3/${revoked}`)),
    );
    await admin(`/keys/${id}/revoke`, {});
    expect(await Promise.all(callers.map(({ closed }) => closed))).toMatchObject(callers.map(() => ({ code: 1008 })));
  });

  it('reject a revoked key within a second', async () => {
    const { key: revoked, id } = await createKey();
    await eventually(async () => (await onAll(() => storage(revoked))).every(({ status }) => status === 200));
    await admin(`/keys/${id}/revoke`, {});
    const ms = await eventually(async () =>
      (await onAll(() => storage(revoked))).every(({ status }) => status === 401),
    );
    // A second, and as much again on a loaded machine.
    expect(ms).toBeLessThan(2_000);
  });

  it('serve a filter on whichever connection its calls arrive, and only to its key', async () => {
    const { result: id } = await call('eth_newBlockFilter');
    const { key: other } = await createKey();
    await eventually(async () => (await onAll(() => storage(other))).every(({ status }) => status === 200));
    const strangers = await onAll(() => call('eth_getFilterChanges', [id], other));
    expect(strangers.every(({ error }) => error?.message === 'filter not found')).toBe(true);
    const before = await onAll(() => call('eth_getFilterChanges', [id]));
    expect(before.every(({ result }) => Array.isArray(result))).toBe(true);
    const found: unknown[] = [];
    const hashes = [1, 2, 3].map(() => chain.mine().header.hash);
    await eventually(async () => {
      for (const { result } of await onAll(() => call('eth_getFilterChanges', [id])))
        found.push(...(result as unknown[]));
      return found.includes(hashes.at(-1));
    });
    // Each block once, whichever worker was polled.
    expect(new Set(found).size).toBe(found.length);
    expect(found).toEqual(expect.arrayContaining(hashes));
    const removed = await onAll(() => call('eth_uninstallFilter', [id]));
    expect(removed.filter(({ result }) => result === true)).toHaveLength(1);
    const after = await onAll(() => call('eth_getFilterChanges', [id]));
    expect(after.every(({ error }) => error?.message === 'filter not found')).toBe(true);
  });

  it('read the logs of a filter of either worker', async () => {
    const { result: id } = await call('eth_newFilter', [{ address: `0x${'34'.repeat(20)}` }]);
    const replies = await onAll(() => call('eth_getFilterLogs', [id]));
    expect(replies.map(({ result, error }) => result ?? error)).toEqual(Array.from({ length: CONNECTIONS }, () => []));
  });

  it('never serve an older head than the one before, on whichever connection', async () => {
    let newest = 0;
    for (let mined = 0; mined < 20; mined++) {
      chain.mine();
      for (let sent = 0; sent < 4; sent++) {
        const { result } = await call('eth_blockNumber');
        expect(Number(result)).toBeGreaterThanOrEqual(newest);
        newest = Number(result);
      }
    }
  });

  it('never serve an older head than one that a subscriber of either got, each head once and in order', async () => {
    const callers = await Promise.all(
      Array.from({ length: 4 }, () => openCaller(`${gateway.address.replace('http', 'ws')}/main/ws/v3/${key}`)),
    );
    for (const caller of callers) await caller.call('eth_subscribe', ['newHeads']);
    const numbers = (): number[][] =>
      callers.map(({ unread }) => unread.map((text) => Number(/"number":"(0x[0-9a-f]+)"/.exec(text)?.[1])));
    let mined = 0;
    for (let block = 0; block < 5; block++) {
      mined = Number(chain.mine().header.number);
      await eventually(() => numbers().some((delivered) => delivered.includes(mined)));
      for (const { result } of await onAll(() => call('eth_blockNumber')))
        expect(Number(result)).toBeGreaterThanOrEqual(mined);
    }
    await eventually(() => numbers().every((delivered) => delivered.includes(mined)));
    for (const delivered of numbers()) {
      const first = delivered[0] ?? 0;
      expect(delivered).toEqual(Array.from({ length: mined - first + 1 }, (_, index) => first + index));
      expect(delivered.length).toBeGreaterThanOrEqual(5);
    }
    for (const { socket } of callers) socket.terminate();
  }, 60_000);

  it('deliver each new head to subscribers of both', async () => {
    const callers = await Promise.all(
      Array.from({ length: 4 }, () => openCaller(`${gateway.address.replace('http', 'ws')}/main/ws/v3/${key}`)),
    );
    for (const caller of callers) await caller.call('eth_subscribe', ['newHeads']);
    const { hash } = chain.mine().header;
    await eventually(() => callers.every(({ unread }) => unread.some((text) => text.includes(hash))));
    for (const { socket } of callers) socket.terminate();
  });

  it('reload the network files together', async () => {
    place.withNetworks({ more: network(10, [node.url]) });
    gateway.signal('SIGHUP');
    const ms = await eventually(async () => {
      const replies = await onAll(() => call('eth_chainId', [], key, 'more'));
      return replies.every(({ result }) => result === '0xa');
    });
    expect(ms).toBeLessThan(5_000);
    place.withNetworks({ more: 'chainId: wrong' });
    gateway.signal('SIGHUP');
    await eventually(async () => (await valueOf('gatehouse_config_last_reload_successful')) === 0);
    const replies = await onAll(() => call('eth_chainId', [], key, 'more'));
    expect(replies.every(({ result }) => result === '0xa')).toBe(true);
    place.withNetworks({ more: network(10, [node.url]) });
    gateway.signal('SIGHUP');
    await eventually(async () => (await valueOf('gatehouse_config_last_reload_successful')) === 1);
  }, 60_000);

  it('show the latest calls and events of both on any of them', async () => {
    const shown = async (path: string): Promise<Record<string, unknown>> => {
      const response = await fetch(`${ops}/admin${path}`, {
        headers: { authorization: `Bearer ${token}`, connection: 'close' },
      });
      return (await response.json()) as Record<string, unknown>;
    };
    await onAll(() => call('eth_getStorageAt', ['0x1', '0x0', 'latest']));
    for (let read = 0; read < 4; read++) {
      const { calls } = (await shown('/calls?method=eth_getStorageAt&outcome=invalid-params')) as {
        calls: { count: number }[];
      };
      expect(calls.reduce((sum, { count }) => sum + count, 0)).toBe(CONNECTIONS);
      const { events } = (await shown('/events?kind=admin')) as { events: { reason: string }[] };
      expect(events.some(({ reason }) => reason.startsWith('create'))).toBe(true);
    }
  });

  it('show the differences between upstreams that both found on any of them', async () => {
    // Each one another call, so that none is coalesced.
    let sent = 0;
    const balance = (): Promise<Reply> =>
      call('eth_getBalance', [`0x${(++sent).toString(16).padStart(40, '0')}`, '0x1'], key, 'differing');
    const replies = await onAll(balance);
    expect(replies.every(({ error }) => error !== undefined)).toBe(true);
    const shown = async (address: string): Promise<{ count: number; upstreams: string[]; values?: unknown }[]> => {
      const headers = { accept: 'application/json', connection: 'close' };
      const { networks } = (await (await fetch(`${address}/differing`, { headers })).json()) as {
        networks: [{ differences: { count: number; upstreams: string[]; values?: unknown }[] }];
      };
      return networks[0].differences;
    };
    for (let read = 0; read < 4; read++) {
      const differences = await shown(ops);
      expect(differences.reduce((sum, { count }) => sum + count, 0)).toBe(CONNECTIONS);
      expect(differences[0]).toHaveProperty('values');
      expect((await shown(gateway.address))[0]).not.toHaveProperty('values');
    }
  });

  it('have the log level of the admin API', async () => {
    await admin('/log-level', { level: 'debug' }, 'PATCH');
    await eventually(async () => {
      const levels = await onAll(async () => {
        const response = await fetch(`${ops}/admin/log-level`, {
          headers: { authorization: `Bearer ${token}`, connection: 'close' },
        });
        return ((await response.json()) as { level: string }).level;
      });
      return levels.every((level) => level === 'debug');
    });
    await admin('/log-level', { level: 'info' }, 'PATCH');
  });
});

describe('a worker that ends', () => {
  it('loses its own calls only, and is replaced, counted and logged', async () => {
    const agents = Array.from({ length: 2 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
    const send = (agent: Agent): Promise<Reply> => call('eth_blockNumber', [], key, 'main', agent);
    // One connection to each worker.
    for (const agent of agents) await send(agent);
    const crashes = await valueOf('gatehouse_worker_ends_total', { reason: 'crashed' });
    node.always(slow(300));
    const replies = Promise.allSettled(
      agents.map((agent) => call('eth_getStorageAt', [`0x${'12'.repeat(20)}`, '0x1', 'latest'], key, 'main', agent)),
    );
    const [killed = 0] = childrenOf(gateway.pid);
    process.kill(killed, 'SIGKILL');
    const lost = (await replies).filter(({ status }) => status === 'rejected');
    expect(lost.length).toBeLessThanOrEqual(1);
    await eventually(async () => (await bothListen()) && !childrenOf(gateway.pid).includes(killed));
    expect(await valueOf('gatehouse_worker_ends_total', { reason: 'crashed' })).toBe(crashes + 1);
    expect(gateway.stderr()).toContain('a worker has ended');
    node.always(undefined);
    expect((await onAll(storage)).every(({ result }) => result === word)).toBe(true);
    for (const agent of agents) agent.destroy();
  }, 60_000);

  it('is found and replaced if it hangs, and the others go on', async () => {
    const hung = childrenOf(gateway.pid).at(-1) ?? 0;
    process.kill(hung, 'SIGSTOP');
    await eventually(() => !childrenOf(gateway.pid).includes(hung), 30_000);
    await eventually(bothListen, 30_000);
    expect(await valueOf('gatehouse_worker_ends_total', { reason: 'hung' })).toBe(1);
    expect((await onAll(storage)).every(({ result }) => result === word)).toBe(true);
  }, 90_000);
});

describe('the whole gateway', () => {
  const start = (env: Record<string, string> = {}): Promise<Gateway> => place.start({ WORKERS: '2', ...env });

  it('has the same healthy upstreams in a worker that sends nothing, while another one sends all', async () => {
    const opsPort = await freePort();
    const own = await start({ OPS_PORT: String(opsPort), ADMIN_TOKEN: token });
    const ownOps = `http://127.0.0.1:${opsPort}`;
    await eventually(async () => (await readMetrics(ownOps)).value('gatehouse_workers') === 2);
    // Its first connection is one to the first worker, which also polls for all.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const json = async <Body>(path: string): Promise<Body> => {
      const headers = { authorization: `Bearer ${token}`, accept: 'application/json', connection: 'close' };
      return (await (await fetch(`${ownOps}${path}`, { headers })).json()) as Body;
    };
    type Shown = { networks: { upstreams: { state: string; reason?: string; history: unknown[] }[] }[] };
    const shown = (): Promise<Shown[]> => onAll(() => json<Shown>('/main'));
    // The history has the calls of all workers.
    await eventually(async () => {
      expect(await call('eth_blockNumber', [], key, 'main', agent, own.address)).toHaveProperty('result');
      return (await shown()).every(({ networks }) => networks[0]?.upstreams[0]?.history.length);
    }, 40_000);
    for (const { networks } of await shown()) {
      expect(networks[0]?.upstreams[0]?.state).toMatch(/^(up|unused)$/);
      expect(networks[0]?.upstreams[0]).not.toHaveProperty('reason');
    }
    for (const { networks } of await onAll(() => json<{ networks: object }>('/readyz')))
      expect(networks).toMatchObject({ main: { upstreams: 1, up: 1, failing: {} } });
    const { events } = await json<{ events: { kind: string }[] }>('/admin/events');
    expect(events.filter(({ kind }) => kind === 'upstream' || kind === 'network')).toEqual([]);
    agent.destroy();
    await own.stop();
  }, 90_000);

  it('drains all workers with SIGTERM', async () => {
    const own = await start();
    await eventually(async () => (await readMetrics(own.address)).value('gatehouse_workers') === 2);
    const children = childrenOf(own.pid);
    const { code, signal } = await own.stop();
    expect([code, signal]).toEqual([0, null]);
    expect(children.map(parentOf)).toEqual([undefined, undefined]);
  }, 60_000);

  it('ends if its first process is killed', async () => {
    const own = await start();
    await eventually(async () => (await readMetrics(own.address)).value('gatehouse_workers') === 2);
    const children = childrenOf(own.pid);
    own.signal('SIGKILL');
    await own.ended;
    await eventually(() => children.every((pid) => parentOf(pid) === undefined));
  }, 60_000);

  it('does not start with an invalid configuration, and prints the reason once', async () => {
    const empty = new Workplace().withNetworks({ main: 'chainId: wrong' });
    const { code, stderr } = await empty.run(['start'], { WORKERS: '2', PORT: '0' });
    expect(code).toBe(78);
    expect(stderr.match(/chainId/g)?.length).toBe(1);
    await empty.close();
  }, 60_000);

  it('does not start if its port is in use', async () => {
    const port = new URL(gateway.address).port;
    const { code, stderr } = await place.run(['start'], { WORKERS: '2', PORT: port });
    expect(code).toBe(1);
    expect(stderr).toContain(port);
  }, 60_000);
});
