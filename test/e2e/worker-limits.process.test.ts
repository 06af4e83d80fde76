import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { openCaller, type Caller } from '../server/websocket/caller.ts';
import { asUsual, type Exchange } from '../support/behaviours.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { freePort } from '../support/redis.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { network } from '../support/gateway.ts';
import { inLongRun } from '../support/long-run.ts';
import { childrenOf } from '../support/process-tree.ts';
import { Workplace, type Gateway } from './gateway-process.ts';
import { START_MS } from './two-workers.ts';

const token = 'T0ken-0f-an-operator';
const word = `0x${'2a'.padStart(64, '0')}`;
const LIMIT = 7;
/** Sockets, which reach both workers. */
const SOCKETS = 6;
/** Sockets that reach both workers also if the primary counts 12 connections more at one of them. */
const MANY_SOCKETS = 18;

let node: FakeNode;
let place: Workplace;
let gateway: Gateway;
let ops: string;
/** Calls at the node without a response, and the most since `beforeEach`. */
let held: Exchange[];
let most: number;

/** Calls whose connection is open: those of a killed worker have ended. */
const inProgress = (): number => held.filter(({ response }) => !response.destroyed).length;

function release(count = 1): void {
  for (const exchange of held.splice(0, count)) asUsual(exchange);
}

async function createKey(permissions: object = {}): Promise<string> {
  const response = await fetch(`${ops}/admin/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'test', permissions }),
  });
  return ((await response.json()) as { key: string }).key;
}

/** A call over a connection of its own, which goes to the worker with the fewest. @param key empty: none @returns the status */
function call(key: string, slug = 'free'): Promise<number> {
  const body = JSON.stringify(readStorage(1));
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const sent = request(
      `${gateway.address}/${slug}/v3${key && `/${key}`}`,
      { method: 'POST', agent: false, headers },
      (response) => {
        response.resume().on('end', () => {
          resolve(response.statusCode ?? 0);
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

let position = 0;

/** Each one another call, so that none is coalesced. */
function readStorage(id: number): object {
  const params = [`0x${'12'.repeat(20)}`, `0x${(++position).toString(16)}`, 'latest'];
  return { jsonrpc: '2.0', id, method: 'eth_getStorageAt', params };
}

async function openSockets(key: string, slug: string, count: number): Promise<Caller[]> {
  const url = `${gateway.address.replace('http', 'ws')}/${slug}/ws/v3${key && `/${key}`}`;
  const opened: Caller[] = [];
  for (let open = 0; open < count; open++) opened.push(await openCaller(url));
  return opened;
}

function sendAll(caller: Caller, count: number): void {
  for (let sent = 1; sent <= count; sent++) caller.send(JSON.stringify(readStorage(sent)));
}

/** Sends calls in turn until all slots are in use. Polls of the gateway use some of an upstream, so that a call may be 503. */
async function fill(callers: readonly Caller[]): Promise<void> {
  let turn = 0;
  await eventually(() => {
    if (inProgress() < LIMIT) sendAll(callers[turn++ % callers.length] as Caller, 1);
    return inProgress() === LIMIT;
  });
}

const bothListen = async (): Promise<boolean> => (await readMetrics(ops)).value('gatehouse_workers') === 2;

/** A key that both workers know. @param permissions undefined: calls have none */
async function knownKey(permissions: object | undefined): Promise<string> {
  if (permissions === undefined) return '';
  const key = await createKey(permissions);
  node.always(undefined, 'eth_getStorageAt');
  await eventually(async () => {
    const statuses = await Promise.all(Array.from({ length: 12 }, () => call(key)));
    return statuses.every((status) => status === 200);
  });
  hold();
  return key;
}

function hold(): void {
  [held, most] = [[], 0];
  node.always((exchange) => {
    held.push(exchange);
    most = Math.max(most, inProgress());
  }, 'eth_getStorageAt');
}

beforeAll(async () => {
  node = await startFakeNode({ chainId: 10, responses: { eth_getStorageAt: word } });
  const upstream = { name: 'node', url: node.url, batch: false };
  place = new Workplace().withNetworks({
    free: network(10, [node.url]),
    concurrent: { ...network(10, []), upstreams: [{ ...upstream, limits: { concurrency: LIMIT } }] },
    address: { ...network(10, [node.url]), public: { concurrency: LIMIT, sockets: 20 } },
    addresses: { ...network(10, [node.url]), public: { concurrency: 100, sockets: 20, total: { concurrency: LIMIT } } },
    // Its polls of the head take some, too.
    rated: { ...network(10, []), upstreams: [{ ...upstream, limits: { perSecond: 0.001, burst: 30 } }] },
  });
  const opsPort = await freePort();
  ops = `http://127.0.0.1:${opsPort}`;
  gateway = await place.start({ WORKERS: '2', OPS_PORT: String(opsPort), ADMIN_TOKEN: token });
  await eventually(bothListen, START_MS);
}, 120_000);
afterAll(async () => {
  release(Infinity);
  await place.close();
  await node.close();
});
beforeEach(async () => {
  hold();
  await eventually(bothListen, START_MS);
});

const shared = [
  ['the concurrency of a key', 'free', { concurrency: LIMIT }],
  ['the concurrency of an upstream', 'concurrent', {}],
  ['the concurrency of an address without a key', 'address', undefined],
  ['the concurrency of all callers without a key', 'addresses', undefined],
] as const;

describe.each(shared)('two workers share %s', (_name, slug, permissions) => {
  it('calls of one connection use all of it', async () => {
    const [caller] = (await openSockets(await knownKey(permissions), slug, 1)) as [Caller];
    await fill([caller]);
    sendAll(caller, 2);
    await staysTrueFor(100, () => inProgress() === LIMIT);
    release(Infinity);
    caller.socket.terminate();
  });

  it('calls of many connections use all of it, and never more', async () => {
    const callers = await openSockets(await knownKey(permissions), slug, SOCKETS);
    const sending = { isOver: false };
    let responses = 0;
    for (const { socket } of callers) socket.on('message', () => responses++);
    const sent = (async () => {
      while (!sending.isOver) {
        for (const caller of callers) sendAll(caller, 1);
        await scenarioPause(10);
      }
    })();
    await eventually(() => inProgress() === LIMIT);
    for (let round = 0; round < 60; round++) {
      release(1 + (round % 3));
      await eventually(() => inProgress() === LIMIT);
    }
    sending.isOver = true;
    await sent;
    expect(most).toBe(LIMIT);
    expect(responses).toBeGreaterThan(60);
    for (const { socket } of callers) socket.terminate();
    release(Infinity);
    await eventually(() => {
      release(Infinity);
      return inProgress() === 0;
    });
  }, 60_000);
});

it('two workers send an upstream its burst, whichever has the calls, and not more', async () => {
  const key = await knownKey({});
  node.always(undefined, 'eth_getStorageAt');
  const before = node.callsOf('eth_getStorageAt').length;
  const statuses = await Promise.all(Array.from({ length: 20 }, () => call(key, 'rated')));
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(15);
  await eventually(async () =>
    (await Promise.all(Array.from({ length: 12 }, () => call(key, 'rated')))).every((status) => status === 503),
  );
  const calls = node.callsOf('eth_getStorageAt').length - before;
  expect(calls).toBeLessThanOrEqual(30);
  expect(calls).toBeGreaterThan(15);
});

// These tests are last, because they end workers: a worker that ran for a short time is started again up to 15 s later.
describe.each(inLongRun(shared, shared.slice(0, 1)))('of two workers that share %s', (_name, slug, permissions) => {
  it('one is killed: what it had is for the other one', async () => {
    const key = await knownKey(permissions);
    const callers = await openSockets(key, slug, MANY_SOCKETS);
    const closed = new Set<Caller>();
    for (const caller of callers) void caller.closed.then(() => closed.add(caller));
    await fill(callers);
    process.kill(childrenOf(gateway.pid)[0] ?? 0, 'SIGKILL');
    await eventually(() => closed.size > 0 && inProgress() < LIMIT);
    await fill(callers.filter((caller) => !closed.has(caller)));
    await staysTrueFor(50, () => inProgress() === LIMIT);
    for (const { socket } of callers) socket.terminate();
    await eventually(() => {
      release(Infinity);
      return inProgress() === 0;
    });
  }, 60_000);
});
