import { existsSync } from 'node:fs';
import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { ScriptedChain } from '../subscriptions/scripted-chain.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network } from '../support/gateway.ts';
import { childrenOf } from '../support/process-tree.ts';
import { freePort } from '../support/redis.ts';
import { adminToken, onAll, START_MS, TwoWorkers } from './two-workers.ts';

const word = `0x${'2a'.padStart(64, '0')}`;

let node: FakeNode;
let gateway: TwoWorkers;

beforeAll(async () => {
  node = await startFakeNode({
    chainId: 10,
    responses: { ...new ScriptedChain().responses(), eth_getStorageAt: word },
  });
  gateway = await TwoWorkers.start({ main: network(10, [node.url]) });
});
afterAll(async () => {
  await gateway.close();
  await node.close();
});

describe('of two workers, one', { timeout: 240_000 }, () => {
  it('is found and replaced if it hangs, and the other one goes on', async () => {
    const hung = gateway.workers.at(-1) ?? 0;
    process.kill(hung, 'SIGSTOP');
    await eventually(() => !gateway.workers.includes(hung), 30_000);
    await eventually(() => gateway.bothListen(), START_MS);
    expect(await gateway.valueOf('gatehouse_worker_ends_total', { reason: 'hung' })).toBe(1);
    expect((await onAll(() => gateway.storage())).every(({ result }) => result === word)).toBe(true);
  });

  it('has the same healthy upstreams while it sends nothing and the other one sends all; SIGTERM drains both', async () => {
    const opsPort = await freePort();
    const own = await gateway.place.start({ WORKERS: '2', OPS_PORT: String(opsPort), ADMIN_TOKEN: adminToken });
    const ownOps = `http://127.0.0.1:${opsPort}`;
    await eventually(async () => (await readMetrics(ownOps)).value('gatehouse_workers') === 2, START_MS);
    // Its first connection is one to the first worker, which also polls for all.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const json = async <Body>(path: string): Promise<Body> => {
      const headers = { authorization: `Bearer ${adminToken}`, accept: 'application/json', connection: 'close' };
      return (await (await fetch(`${ownOps}${path}`, { headers })).json()) as Body;
    };
    type Shown = { networks: { upstreams: { state: string; reason?: string; history: unknown[] }[] }[] };
    const shown = (): Promise<Shown[]> => onAll(() => json<Shown>('/main'));
    // The history has the calls of all workers.
    await eventually(async () => {
      expect(await gateway.call('eth_blockNumber', [], { agent, address: own.address })).toHaveProperty('result');
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
    const children = childrenOf(own.pid);
    expect(await own.stop()).toMatchObject({ code: 0, signal: null });
    expect(children.filter(isRunning)).toEqual([]);
  });
});

function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}
