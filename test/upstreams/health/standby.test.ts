import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { shiftClock, storageParams, withNodes, word } from '../../routing/with-nodes.ts';
import { status } from '../../support/behaviours.ts';
import { eventually, staysTrueFor } from '../../support/eventually.ts';
import { startFakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';

const CHAIN_ID = 7;
/** Time longer than the maximum cooldown and the backoff of polls, which grow while the test waits on a loaded machine. */
const wait = { timeout: 60_000 };

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly upstream?: string;
  readonly failure?: string;
  readonly detail?: string;
}

async function withStandby() {
  const lines: Line[] = [];
  const log = pino({}, { write: (text) => void lines.push(JSON.parse(text) as Line) });
  const start = () => startFakeNode({ chainId: CHAIN_ID, responses: { eth_getStorageAt: word(1) } });
  const [primary, standby] = [await start(), await start()];
  const upstreams = [
    { name: 'primary', url: primary.url },
    { name: 'standby', url: standby.url, priority: 1 },
  ];
  const file = network(CHAIN_ID, [], { upstreams, failsafe: { hedgeAfterMs: 'off' } });
  const gateway = await startGateway({ test: file }, { CACHE_MAX_BYTES: '0' }, log);
  onTestFinished(async () => {
    await gateway.stop();
    await Promise.all([primary.close(), standby.close()]);
  });
  const call = () => gateway.call('test', 'eth_getStorageAt', storageParams);
  const isUp = async () =>
    (await readMetrics(gateway.address)).value('gatehouse_upstream_up', { network: 'test', upstream: 'standby' });
  const polls = async (outcome: string) =>
    (await readMetrics(gateway.address)).value('gatehouse_head_polls_total', { upstream: 'standby', outcome });
  return { gateway, standby, call, isUp, polls, lines };
}

interface Ready {
  readonly networks: Readonly<
    Record<string, { readonly up: number; readonly failing: Readonly<Record<string, string>> }>
  >;
}

async function readyz({ address }: TestGateway): Promise<Ready['networks'][string] | undefined> {
  return ((await (await fetch(`${address}/readyz`)).json()) as Ready).networks['test'];
}

async function stateOf({ address }: TestGateway, name: string) {
  const response = await fetch(`${address}/test`, { headers: { accept: 'application/json' } });
  const { networks } = (await response.json()) as {
    networks: { upstreams: { name: string; state: string; trouble?: object; workedS?: number }[] }[];
  };
  return networks[0]?.upstreams.find((upstream) => upstream.name === name);
}

describe('a standby upstream that gets no calls', () => {
  it('is shown as failing when it dies: state, readyz, log, metric; and as up when it works again', async () => {
    const { gateway, standby, call, isUp, polls, lines } = await withStandby();
    await call();
    await eventually(async () => ((await polls('response')) ?? 0) > 0, wait.timeout);
    expect(await isUp()).toBe(1);
    await standby.refuse();
    // Each call continues the use of the network, and so its polls.
    const whileCalling = (condition: () => Promise<boolean>) =>
      eventually(async () => (await call()).result === word(1) && condition(), wait.timeout);
    await whileCalling(async () => (await isUp()) === 0);
    const reason = 'connection refused';
    const text = new RegExp(`^circuit open for \\d+ s: ${reason}, (\\d+) of \\1 requests failed$`);
    expect(await readyz(gateway)).toMatchObject({ up: 1, failing: { standby: expect.stringMatching(text) as string } });
    await eventually(async () => (await stateOf(gateway, 'standby'))?.state === 'failing', 5_000);
    expect(await stateOf(gateway, 'standby')).toMatchObject({
      trouble: { circuit: 'open', reason },
      workedS: expect.any(Number) as number,
    });
    expect(lines.filter(({ msg }) => msg === 'upstream failed')).toMatchObject([
      { level: 40, upstream: 'standby', failure: 'transport', detail: 'ECONNREFUSED' },
    ]);
    expect(standby.callsOf('eth_getStorageAt')).toEqual([]);
    await standby.listen();
    await whileCalling(async () => (await isUp()) === 1);
    expect(await readyz(gateway)).toMatchObject({ up: 2, failing: {} });
    expect(lines.map(({ msg }) => msg)).toContain('upstream recovered');
  });

  it('stays up after one failed poll', async () => {
    const { standby, call, isUp, polls } = await withStandby();
    standby.next(status(503), 'eth_getBlockByNumber');
    await call();
    await eventually(async () => (await polls('transport')) === 1, wait.timeout);
    expect(await isUp()).toBe(1);
    await eventually(
      async () => (await call()).result === word(1) && ((await polls('response')) ?? 0) > 0,
      wait.timeout,
    );
    expect(await isUp()).toBe(1);
  });
});

describe('an upstream whose head is not polled', () => {
  const only = { methods: ['-eth_getBlockByNumber'] };

  it('is probed once a minute while its network is used, and not while it is idle', async () => {
    const clock = shiftClock();
    const { nodes, request, gateway } = await withNodes(2, {}, {}, [{}, only]);
    const probes = () => nodes[1]?.calls.map(({ method }) => method);
    await request();
    await eventually(() => nodes[1]?.calls.length === 1);
    expect(probes()).toEqual(['eth_chainId']);
    clock.forward(30_000);
    await request();
    await staysTrueFor(50, () => nodes[1]?.calls.length === 1);
    clock.forward(30_000);
    await staysTrueFor(50, () => nodes[1]?.calls.length === 1);
    await request();
    await eventually(() => nodes[1]?.calls.length === 2);
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_upstream_up', { upstream: 'node-1' })).toBe(1);
  });

  it('is down after two failed probes', async () => {
    const clock = shiftClock();
    const { nodes, request, gateway } = await withNodes(2, {}, {}, [{}, only]);
    await nodes[1]?.refuse();
    const isUp = async () =>
      (await readMetrics(gateway.address)).value('gatehouse_upstream_up', { upstream: 'node-1' });
    const failures = async () =>
      (await readMetrics(gateway.address)).value('gatehouse_head_polls_total', {
        upstream: 'node-1',
        outcome: 'transport',
      });
    await request();
    await eventually(async () => (await failures()) === 1);
    expect(await isUp()).toBe(1);
    clock.forward(60_000);
    await request();
    await eventually(async () => (await failures()) === 2);
    expect(await isUp()).toBe(0);
  });
});

describe('an upstream with `probe: off`', () => {
  it('gets no request until a call is sent to it, and is polled from then on', async () => {
    const clock = shiftClock();
    const { nodes, request } = await withNodes(2, {}, {}, [{}, { priority: 1, probe: 'off' }]);
    await request();
    clock.forward(60_000);
    await request();
    await eventually(() => (nodes[0]?.callsOf('eth_getBlockByNumber').length ?? 0) >= 2);
    await staysTrueFor(50, () => nodes[1]?.calls.length === 0);
    await nodes[0]?.refuse();
    // The head is polled before the call, which must not read an older state.
    expect(await request()).toMatchObject({ result: word(2) });
    expect(nodes[1]?.calls.map(({ method }) => method)).toEqual([
      'eth_chainId',
      'eth_getBlockByNumber',
      'eth_getStorageAt',
    ]);
    clock.forward(20_000);
    await request();
    await eventually(() => nodes[1]?.callsOf('eth_getBlockByNumber').length === 2);
  });
});
