import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import type { Balancer } from '../support/balancer.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, patient } from '../support/gateway.ts';
import { startHaproxy } from '../support/haproxy.ts';
import { freePort, startRedis, type RedisServer } from '../support/redis.ts';
import { openCaller } from '../server/websocket/caller.ts';
import { ScriptedChain } from '../subscriptions/scripted-chain.ts';
import { Workplace, type Gateway } from '../e2e/gateway-process.ts';

const token = 'T0ken-0f-an-operator';
const word = `0x${'2a'.padStart(64, '0')}`;

interface Replica {
  readonly port: number;
  readonly opsPort: number;
  readonly gateway: Pick<Gateway, 'address'>;
}

interface RpcResponse {
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

let node: FakeNode;
let redis: RedisServer;
let place: Workplace;
let replicas: readonly Replica[];
/** The second of them, a process with two workers: whatever three gateways have in common, their workers have too. */
let killed: Gateway;
let balancer: Balancer;

// HAProxy may have to be installed.
beforeAll(async () => {
  redis = await startRedis();
  node = await startFakeNode({
    chainId: 10,
    responses: { ...new ScriptedChain().responses(), eth_getStorageAt: word },
  });
  place = new Workplace().withNetworks({ main: network(10, [node.url]) });
  // All ports are chosen first, so that no two are equal.
  const ports: { port: number; opsPort: number }[] = [];
  for (let made = 0; made < 3; made++) ports.push({ port: await freePort(), opsPort: await freePort() });
  replicas = await Promise.all(
    ports.map(async ({ port, opsPort }, index) => {
      const env = {
        PORT: String(port),
        OPS_PORT: String(opsPort),
        ADMIN_TOKEN: token,
        REDIS_URL: redis.url,
        ...patient,
      };
      if (index !== 1) return { port, opsPort, gateway: await place.serve(env) };
      killed = await place.start({ ...env, WORKERS: '2' });
      return { port, opsPort, gateway: killed };
    }),
  );
  balancer = await startHaproxy(replicas);
});
afterAll(async () => {
  await balancer.stop();
  await place.close();
  await Promise.all([node.close(), redis.stop()]);
});

// Each test continues from the state of the previous one.
it('a key created at one gateway is valid at all of them', async () => {
  const { key } = await act(0, '', { name: 'alice' });
  for (let requested = 0; requested < 9; requested++) expect(await call(balancer.address, key)).toBe(200);
  for (const replica of replicas) expect(await counted(replica, 'result')).toBeGreaterThan(0);
});

it('a rate limit is shared: all three gateways together do not exceed it', async () => {
  // A loaded machine has more calls than that, too.
  const [rate, burst] = [2, 60];
  const { key } = await act(1, '', { name: 'bob', permissions: { rate, burst } });
  const before = await Promise.all(replicas.map((replica) => counted(replica, 'rate-limit')));
  const startedAt = Date.now();
  const statuses: number[] = [];
  const caller = async (): Promise<void> => {
    while (statuses.length < 300) statuses.push(await call(balancer.address, key));
  };
  await Promise.all(Array.from({ length: 12 }, caller));
  const seconds = (Date.now() - startedAt) / 1_000;
  const passed = statuses.filter((status) => status === 200).length;
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  expect(passed).toBeLessThanOrEqual(burst + rate * seconds);
  expect(passed).toBeGreaterThanOrEqual(burst / 2);
  const after = await Promise.all(replicas.map((replica) => counted(replica, 'rate-limit')));
  for (const [index, rejected] of after.entries()) expect(rejected).toBeGreaterThan(before[index] ?? 0);
});

it('a daily quota is shared, to the last call, also if all gateways get calls at once', async () => {
  const { key } = await act(2, '', { name: 'carol', permissions: { daily: 40 } });
  const before = await Promise.all(replicas.map((replica) => counted(replica, 'result')));
  const statuses = await Promise.all(Array.from({ length: 90 }, () => call(balancer.address, key)));
  expect(statuses.filter((status) => status === 200)).toHaveLength(40);
  expect(statuses.filter((status) => status === 429)).toHaveLength(50);
  const after = await Promise.all(replicas.map((replica) => counted(replica, 'result')));
  for (const [index, served] of after.entries()) expect(served).toBeGreaterThan(before[index] ?? 0);
});

it('a filter is found at its own gateway only, and by each of its polls if calls are balanced by key', async () => {
  const { key } = await act(0, '', { name: 'frank' });
  const [here, elsewhere] = replicas.map(({ gateway }) => `${gateway.address}/main/v3/${key}`);
  const id = await request(here ?? '', 'eth_newBlockFilter', []);
  expect(await request(here ?? '', 'eth_getFilterChanges', [id])).toEqual([]);
  await expect(request(elsewhere ?? '', 'eth_getFilterChanges', [id])).rejects.toThrow('filter not found');
  const balancerByKey = await startHaproxy(replicas, 'by key');
  try {
    const used = new Set<number>();
    for (let keys = 0; keys < 12; keys++) {
      const created = await act(0, '', { name: `filters-${keys}` });
      const path = `${balancerByKey.address}/main/v3/${created.key}`;
      const before = await Promise.all(replicas.map((replica) => counted(replica, 'result')));
      const filter = await request(path, 'eth_newBlockFilter', []);
      for (let polls = 0; polls < 6; polls++) expect(await request(path, 'eth_getFilterChanges', [filter])).toEqual([]);
      const after = await Promise.all(replicas.map((replica) => counted(replica, 'result')));
      used.add(after.findIndex((count, index) => count > (before[index] ?? 0)));
    }
    expect(used.size).toBeGreaterThan(1);
  } finally {
    await balancerByKey.stop();
  }
});

it('a key revoked at one gateway is rejected by all of them, and its WebSockets are closed', async () => {
  const { id, key } = await act(0, '', { name: 'dave' });
  const addresses = [balancer.address, ...replicas.map(({ gateway }) => gateway.address)];
  const sockets = await Promise.all(
    addresses.map((address) => openCaller(`${address.replace('http', 'ws')}/main/ws/v3/${key}`)),
  );
  for (const socket of sockets) expect(await socket.call('eth_chainId')).toMatchObject({ result: '0xa' });
  for (const { gateway } of replicas) expect(await call(gateway.address, key)).toBe(200);
  await act(2, `/${id}/revoke`);
  const rejected = replicas.map(({ gateway }) => eventually(async () => (await call(gateway.address, key)) === 401));
  const closed = Promise.all(sockets.map((socket) => socket.closed));
  await Promise.all(rejected);
  expect((await closed).map(({ code }) => code)).toEqual([1008, 1008, 1008, 1008]);
  expect(await call(balancer.address, key)).toBe(401);
});

it('when a gateway is killed, the others serve all calls', async () => {
  const { key } = await act(0, '', { name: 'erin' });
  killed.signal('SIGKILL');
  await killed.ended;
  for (let requested = 0; requested < 9; requested++) expect(await call(balancer.address, key)).toBe(200);
});

/** Sends a request to the admin API of one of the gateways. */
async function act(at: number, path: string, body: object = {}): Promise<{ id: string; key: string }> {
  const response = await fetch(`http://127.0.0.1:${replicas[at]?.opsPort}/admin/keys${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  expect(response.ok).toBe(true);
  return (await response.json()) as { id: string; key: string };
}

async function call(address: string, key: string): Promise<number> {
  const params = [`0x${'12'.repeat(20)}`, '0x0', 'latest'];
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params });
  const response = await fetch(`${address}/main/v3/${key}`, { method: 'POST', body });
  const { result } = (await response.json()) as { result?: string };
  expect(result).toBe(response.status === 200 ? word : undefined);
  return response.status;
}

/** @returns the result */
async function request(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = (await (await fetch(url, { method: 'POST', body })).json()) as RpcResponse;
  if (response.error !== undefined) throw new Error(response.error.message);
  return response.result;
}

/** The number of calls of a gateway with this outcome. */
function counted(replica: Replica, outcome: string): Promise<number> {
  return metric(replica, 'gatehouse_calls_total', { outcome });
}

async function metric({ opsPort }: Replica, name: string, labels: Record<string, string> = {}): Promise<number> {
  const { samples } = await readMetrics(`http://127.0.0.1:${opsPort}`);
  const wanted = Object.entries(labels);
  return samples
    .filter((sample) => sample.name === name && wanted.every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0);
}
