import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { asUsual, hang, type Exchange } from '../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network } from '../support/gateway.ts';
import { processesWith, Workplace, type Gateway } from './gateway-process.ts';

// A chain id that no other test uses: the test finds anvil and its lifeline shell by their command line.
const localChainId = 7_310_001;
/** Calls in progress end with the gateway, and never by their own time on a busy machine. */
const patient = { CALL_TIMEOUT_MS: '60000', UPSTREAM_TIMEOUT_MS: '60000', DRAIN_TIMEOUT_MS: '60000' };
const anvils = (): number[] => processesWith(`--chain-id ${localChainId}`);

let node: FakeNode;
let place: Workplace;

beforeEach(async () => {
  node = await startFakeNode({ chainId: 10, responses: { eth_getStorageAt: `0x${'07'.padStart(64, '0')}` } });
  place = new Workplace().withNetworks({
    fake: network(10, [node.url]),
    mine: { name: 'Mine', chainId: localChainId, upstreams: [{ name: 'anvil', spawn: 'anvil' }] },
  });
});
afterEach(async () => {
  await place.close();
  await node.close();
  expect(anvils()).toEqual([]);
});

describe('a gateway that is stopped', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'by %s completes calls in progress, then ends with its chain',
    async (signal) => {
      const gateway = await place.start(patient);
      expect(anvils()).not.toEqual([]);
      // It does not wait for an idle connection, and fetch leaves its own one open.
      const idle = connect(Number(new URL(gateway.address).port), '127.0.0.1');
      onTestFinished(() => void idle.destroy());
      await once(idle, 'connect');
      let held: Exchange | undefined;
      node.next((exchange) => void (held = exchange), 'eth_getStorageAt');
      const call = sendCall(gateway);
      // Awaited below. If the test fails before, the gateway is killed and this rejection is ignored.
      call.catch(() => undefined);
      await eventually(() => held !== undefined);
      gateway.signal(signal);
      // It logs this, and stops listening shortly afterwards.
      await eventually(() => gateway.stderr().includes('draining'));
      await eventually(() => isRefused(gateway));
      // The chain runs as long as calls may need it.
      expect(anvils()).not.toEqual([]);
      asUsual(held as unknown as Exchange);
      expect(await call).toEqual({ status: 200, result: `0x${'07'.padStart(64, '0')}` });
      expect(await gateway.ended).toMatchObject({ code: 0, signal: null });
      expect(anvils()).toEqual([]);
    },
  );

  it('by SIGTERM accepts calls during DRAIN_DELAY_MS, which a second signal ends', async () => {
    const gateway = await place.start({ DRAIN_DELAY_MS: '60000' });
    gateway.signal('SIGTERM');
    await eventually(async () => (await fetch(`${gateway.address}/readyz`)).status === 503);
    expect(await sendCall(gateway)).toMatchObject({ status: 200 });
    gateway.signal('SIGTERM');
    expect(await gateway.ended).toMatchObject({ code: 1 });
  });

  it('by SIGINT does not wait for load balancers; it ignores SIGUSR2', async () => {
    const gateway = await place.start({ DRAIN_DELAY_MS: '60000' });
    gateway.signal('SIGUSR2');
    expect(await sendCall(gateway)).toMatchObject({ status: 200 });
    expect(gateway.stderr()).not.toContain('draining');
    gateway.signal('SIGINT');
    expect(await gateway.ended).toMatchObject({ code: 0, signal: null });
    expect(gateway.stderr()).not.toContain('SIGUSR2');
  });

  it('does not wait longer than DRAIN_TIMEOUT_MS', async () => {
    // After twice this time the process would end itself, with another code.
    const gateway = await place.start({ ...patient, DRAIN_TIMEOUT_MS: '3000' });
    node.next(hang);
    const call = sendCall(gateway).catch(() => 'cut off');
    await eventually(() => node.callsOf('eth_getStorageAt').length === 1);
    const startedAt = Date.now();
    gateway.signal('SIGTERM');
    const { code } = await gateway.ended;
    expect(Date.now() - startedAt).toBeGreaterThan(2_900);
    expect([code, await call]).toEqual([0, 'cut off']);
  });

  it('at once, by a second signal, stops its chain', async () => {
    const gateway = await place.start(patient);
    node.next(hang);
    const call = sendCall(gateway).catch(() => 'cut off');
    await eventually(() => node.callsOf('eth_getStorageAt').length === 1);
    gateway.signal('SIGINT');
    await eventually(() => gateway.stderr().includes('draining'));
    gateway.signal('SIGINT');
    expect(await gateway.ended).toMatchObject({ code: 1 });
    expect(await call).toBe('cut off');
    await eventually(() => anvils().length === 0);
  });

  it('during the start leaves no process behind, and logs no error', async () => {
    const starting = place.spawn(['start'], { PORT: '0' });
    await eventually(() => anvils().length > 0, 60_000);
    starting.signal('SIGINT');
    const { stdout, stderr } = await starting.ended;
    await eventually(() => anvils().length === 0);
    expect(stdout).toBe('');
    expect(stderr).not.toMatch(/error|did not start|"level":[56]0/);
  });

  it('by SIGKILL leaves no chain behind', async () => {
    const gateway = await place.start();
    gateway.signal('SIGKILL');
    expect(await gateway.ended).toMatchObject({ signal: 'SIGKILL' });
    await eventually(() => anvils().length === 0);
  });
});

async function sendCall(gateway: Gateway): Promise<{ status: number; result: unknown }> {
  const key = /gh_\w{32}/.exec(gateway.banner)?.[0] ?? '';
  const params = [`0x${'ab'.repeat(20)}`, '0x0', 'latest'];
  const response = await fetch(`${gateway.address}/fake/v3/${key}`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params }),
  });
  const { result } = (await response.json()) as { result?: unknown };
  return { status: response.status, result };
}

async function isRefused(gateway: Gateway): Promise<boolean> {
  const socket = connect(Number(new URL(gateway.address).port), '127.0.0.1');
  return new Promise((resolve) => {
    socket.once('error', () => {
      resolve(true);
    });
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
  });
}
