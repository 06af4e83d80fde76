import { existsSync } from 'node:fs';
import { Agent } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ScriptedChain } from '../subscriptions/scripted-chain.ts';
import { asUsual, slow, type Exchange } from '../support/behaviours.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network } from '../support/gateway.ts';
import { inLongRun } from '../support/long-run.ts';
import { childrenOf } from '../support/process-tree.ts';
import { Workplace } from './gateway-process.ts';
import { adminToken, CONNECTIONS, onAll, START_MS, TwoWorkers, type Reply } from './two-workers.ts';

const word = `0x${'2a'.padStart(64, '0')}`;

let node: FakeNode;
/** Node that returns other balances than `node`. */
let other: FakeNode;
let gateway: TwoWorkers;

const bothListen = (): Promise<boolean> => gateway.bothListen();
/** A worker that ran for a short time is started again up to 15 s later. */
const ROUNDS = inLongRun(4, 1);
/** Tests that wait for a worker to start. */
const long = { timeout: 240_000 };

beforeAll(async () => {
  const responses = { ...new ScriptedChain().responses(), eth_getStorageAt: word };
  node = await startFakeNode({ chainId: 10, responses: { ...responses, eth_getBalance: '0x1' } });
  other = await startFakeNode({ chainId: 10, responses: { ...responses, eth_getBalance: '0x2' } });
  gateway = await TwoWorkers.start({
    main: network(10, [node.url]),
    differing: network(10, [node.url, other.url], {
      verify: { agree: { eth_getBalance: 2 } },
      failsafe: { hedgeAfterMs: 'off' },
    }),
  });
});
afterAll(async () => {
  await gateway.close();
  await Promise.all([node.close(), other.close()]);
});
beforeEach(async () => {
  node.always(undefined);
  await eventually(bothListen, START_MS);
});

/** Calls of both workers. */
const served = (): Promise<number> =>
  gateway.valueOf('gatehouse_calls_total', { method: 'eth_getStorageAt', outcome: 'result' });

const levels = (): Promise<unknown[]> => onAll(async () => (await gateway.admin('/log-level')).level);

describe('two workers', () => {
  it('serve one port, and are one gateway on the metrics page', async () => {
    const before = await served();
    const replies = await onAll(() => gateway.storage());
    expect(replies.every(({ result }) => result === word)).toBe(true);
    expect(gateway.workers).toHaveLength(2);
    for (let scraped = 0; scraped < 4; scraped++) expect(await served()).toBe(before + CONNECTIONS);
  });

  it('send an upstream identical calls that are in progress once each at most', async () => {
    const held: Exchange[] = [];
    node.always((exchange) => void held.push(exchange), 'eth_getStorageAt');
    const params = [`0x${'13'.repeat(20)}`, '0x0', 'latest'];
    const replies = onAll(() => gateway.call('eth_getStorageAt', params));
    await eventually(() => held.length > 0);
    await staysTrueFor(300, () => held.length <= 2);
    node.always(undefined, 'eth_getStorageAt');
    for (const exchange of held) asUsual(exchange);
    expect((await replies).every(({ result }) => result === word)).toBe(true);
  });

  it('poll the heads of an upstream once', async () => {
    await onAll(() => gateway.storage());
    const polls = (): number =>
      node.callsOf('eth_getBlockByNumber').filter(({ params }) => (params as [string])[0] === 'latest').length;
    const [start, startedAt] = [polls(), Date.now()];
    while (polls() < start + 3) await onAll(() => gateway.storage());
    // Each 2 s, less a tenth: two pollers would need half of the time.
    expect(Date.now() - startedAt).toBeGreaterThan(2 * 1_800 * 0.9);
  });

  it('reload the network files together', async () => {
    gateway.place.withNetworks({ more: network(10, [node.url]) });
    gateway.gateway.signal('SIGHUP');
    await eventually(async () => {
      const replies = await onAll(() => gateway.call('eth_chainId', [], { slug: 'more' }));
      return replies.every(({ result }) => result === '0xa');
    });
    gateway.place.withNetworks({ more: 'chainId: wrong' });
    gateway.gateway.signal('SIGHUP');
    await eventually(async () => (await gateway.valueOf('gatehouse_config_last_reload_successful')) === 0);
    const replies = await onAll(() => gateway.call('eth_chainId', [], { slug: 'more' }));
    expect(replies.every(({ result }) => result === '0xa')).toBe(true);
    gateway.place.withNetworks({ more: network(10, [node.url]) });
    gateway.gateway.signal('SIGHUP');
    await eventually(async () => (await gateway.valueOf('gatehouse_config_last_reload_successful')) === 1);
  });

  it('show the latest calls and events of both on any of them', async () => {
    const shown = async (path: string): Promise<Record<string, unknown>> => {
      const response = await fetch(`${gateway.ops}/admin${path}`, {
        headers: { authorization: `Bearer ${adminToken}`, connection: 'close' },
      });
      return (await response.json()) as Record<string, unknown>;
    };
    await onAll(() => gateway.call('eth_getStorageAt', ['0x1', '0x0', 'latest']));
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
      gateway.call('eth_getBalance', [`0x${(++sent).toString(16).padStart(40, '0')}`, '0x1'], { slug: 'differing' });
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
      const differences = await shown(gateway.ops);
      expect(differences.reduce((sum, { count }) => sum + count, 0)).toBe(CONNECTIONS);
      expect(differences[0]).toHaveProperty('values');
      expect((await shown(gateway.gateway.address))[0]).not.toHaveProperty('values');
    }
  });

  it('have the log level of the admin API', async () => {
    await gateway.admin('/log-level', { level: 'debug' }, 'PATCH');
    await eventually(async () => (await levels()).every((level) => level === 'debug'));
    await gateway.admin('/log-level', { level: 'info' }, 'PATCH');
  });
});

describe('a worker that ends', long, () => {
  it('loses its own calls only, and is replaced, counted and logged', async () => {
    const [older, newer] = await gateway.socketAtEach();
    const crashes = await gateway.valueOf('gatehouse_worker_ends_total', { reason: 'crashed' });
    node.always(slow(300));
    const reply = newer.call('eth_getStorageAt', [`0x${'12'.repeat(20)}`, '0x1', 'latest']);
    const [killed = 0] = gateway.workers;
    process.kill(killed, 'SIGKILL');
    await older.closed;
    expect(await reply).toMatchObject({ result: word });
    newer.socket.terminate();
    await eventually(async () => (await bothListen()) && !gateway.workers.includes(killed), START_MS);
    expect(await gateway.valueOf('gatehouse_worker_ends_total', { reason: 'crashed' })).toBe(crashes + 1);
    expect(gateway.gateway.stderr()).toContain('a worker has ended');
    node.always(undefined);
    expect((await onAll(() => gateway.storage())).every(({ result }) => result === word)).toBe(true);
  });

  it('gets no connection any more: those that arrive when it has just ended are served by the other one', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      await eventually(bothListen, START_MS);
      const agents = Array.from({ length: CONNECTIONS }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
      // Some of these connections close with the worker, before the primary knows of its end.
      const closed = Promise.race(
        agents.map(async (agent) => {
          await gateway.call('eth_chainId', [], { agent });
          const [[socket] = []] = Object.values(agent.freeSockets);
          await new Promise((resolve) => socket?.once('close', resolve));
        }),
      );
      await eventually(() => agents.every(({ freeSockets }) => Object.keys(freeSockets).length > 0));
      process.kill(gateway.workers[0] ?? 0, 'SIGKILL');
      await closed;
      expect((await onAll(() => gateway.storage())).every(({ result }) => result === word)).toBe(true);
      for (const agent of agents) agent.destroy();
    }
  });
});

describe('the whole gateway', long, () => {
  it('does not start with an invalid configuration, and prints the reason once', async () => {
    const empty = new Workplace().withNetworks({ main: 'chainId: wrong' });
    const { code, stderr } = await empty.spawn(['start'], { WORKERS: '2', PORT: '0' }).ended;
    expect(code).toBe(78);
    expect(stderr.match(/chainId/g)?.length).toBe(1);
    await empty.close();
  });

  it('does not start if its port is in use', async () => {
    const port = new URL(gateway.gateway.address).port;
    const { code, stderr } = await gateway.place.spawn(['start'], { WORKERS: '2', PORT: port }).ended;
    expect(code).toBe(1);
    expect(stderr).toContain(port);
  });

  // The last test: it ends the gateway of all.
  it('ends if its first process is killed', async () => {
    const children = childrenOf(gateway.gateway.pid);
    expect(children).toHaveLength(2);
    gateway.gateway.signal('SIGKILL');
    await gateway.gateway.ended;
    await eventually(() => !children.some(isRunning));
  });
});

function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}
