import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { digestOf, keyIdOf } from '../../gateway/auth/formats/key.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { ScriptedChain } from '../subscriptions/scripted-chain.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

const daily = 1_000_000;

/** A gateway whose key has a quota, which shows the charge of each body. */
async function start(options: object = {}, env: Record<string, string> = {}): Promise<TestGateway> {
  const node = await startFakeNode({
    chainId: 7,
    responses: {
      ...new ScriptedChain(20).responses(),
      eth_getLogs: [],
      eth_call: '0x',
      debug_traceCall: {},
      debug_traceBlockByNumber: (params: readonly unknown[]) => (params.length === 0 ? [] : ['x'.repeat(2_000)]),
    },
  });
  const methods = ['eth', 'net', 'web3', 'rpc', 'debug_traceCall', 'debug_traceBlockByNumber'];
  const gateway = await startGateway({ test: network(7, [node.url], { methods, ...options }) }, env);
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
  });
  await gateway.gateway.keys.update(keyIdOf(digestOf(gateway.key)), { daily: String(daily), permissions: 'explain' });
  await eventually(async () => (await gateway.post('test', '{}')).headers.has('ratelimit-limit'));
  return gateway;
}

const call = (method: string): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] });

/** The units that a body is charged, and what the explanation says of its calls. */
async function chargeOf(
  gateway: TestGateway,
  ...calls: readonly (readonly [method: string, params?: readonly unknown[]])[]
) {
  const body = JSON.stringify(calls.map(([method, params = []], id) => ({ jsonrpc: '2.0', id, method, params })));
  const usedBefore = await usedUnits(gateway);
  const response = await gateway.post('test', body, { 'x-gatehouse-explain': '1' });
  const explanation = JSON.parse(response.headers.get('x-gatehouse-explain') ?? '{}') as {
    calls: { requestUnits: number }[];
  };
  await response.arrayBuffer();
  const explained = explanation.calls.map(({ requestUnits }) => requestUnits);
  return { charged: (await usedUnits(gateway)) - usedBefore, explained };
}

/** `RateLimit-Remaining` has whole units: probes of a tenth of a unit find the fraction. */
async function usedUnits(gateway: TestGateway): Promise<number> {
  const remaining = async (): Promise<number> =>
    Number((await gateway.post('test', '{}')).headers.get('ratelimit-remaining'));
  const first = await remaining();
  let tenths = 1;
  while ((await remaining()) === first) tenths++;
  // The last probe made `remaining` one less: the rest before it was `first` units and the tenths of the probes.
  return daily - first - tenths / 10;
}

it('explain shows the charge of each call, and their sum is charged', async () => {
  const gateway = await start();
  const override = { [`0x${'ab'.repeat(20)}`]: { balance: '0x1' } };
  const { charged, explained } = await chargeOf(
    gateway,
    ['eth_chainId'],
    ['eth_getLogs', [{ fromBlock: '0x1', toBlock: '0xa' }]],
    ['eth_call', [{}, 'latest', override]],
    ['debug_traceCall'],
    ['debug_traceBlockByNumber'],
    ['no_such'],
    ['eth_getLogs', [{ fromBlock: 1 }]],
    ['rpc.discover'],
    ['net_version'],
    ['web3_clientVersion'],
  );
  expect(explained).toEqual([0.1, 2.1, 1.1, 20, 50, 0.1, 0.1, 0.1, 0.1, 0.1]);
  // Probes between the readings cost up to two units.
  expect(charged).toBeGreaterThanOrEqual(73.6);
  expect(charged).toBeLessThan(76);
});

it('a thousand calls that need no upstream cost a hundred units', async () => {
  const gateway = await start();
  const rejected = Array.from({ length: 500 }, () => ['eth_getLogs', [{ fromBlock: 1 }]] as const);
  const discovered = Array.from({ length: 500 }, () => ['eth_accounts'] as const);
  const { charged } = await chargeOf(gateway, ...rejected, ...discovered);
  expect(charged).toBeGreaterThanOrEqual(99.8);
  expect(charged).toBeLessThan(102.5);
});

it('the logs of a filter cost what a request for them costs', async () => {
  const gateway = await start();
  const create = { jsonrpc: '2.0', id: 1, method: 'eth_newFilter', params: [{ fromBlock: '0x1', toBlock: '0xa' }] };
  const { result } = (await (await gateway.post('test', JSON.stringify(create))).json()) as { result: string };
  expect((await chargeOf(gateway, ['eth_getFilterLogs', [result]])).explained).toEqual([2.1]);
  expect((await chargeOf(gateway, ['eth_getFilterLogs', ['0x1']])).explained).toEqual([0.1]);
});

it('a rejection before an upstream is used costs a tenth of a unit, a response beyond the bound its whole price', async () => {
  const gateway = await start({ bounds: { maxBlockRange: 10, maxResponseBytes: 1_000 } });
  const create = { jsonrpc: '2.0', id: 1, method: 'eth_newFilter', params: [{ fromBlock: '0x1', toBlock: '0xb' }] };
  const { result } = (await (await gateway.post('test', JSON.stringify(create))).json()) as { result: string };
  const { charged, explained } = await chargeOf(
    gateway,
    ['eth_getLogs', [{ fromBlock: '0x1', toBlock: '0xb' }]],
    ['eth_getFilterLogs', [result]],
    ['eth_subscribe', ['newHeads']],
    ['debug_traceBlockByNumber', ['0x1']],
  );
  expect(explained).toEqual([0.1, 0.1, 0.1, 50]);
  expect(charged).toBeGreaterThanOrEqual(50.2);
  expect(charged).toBeLessThan(52.5);
});

it('explain shows what a call would cost that a limit rejects, and which limit', async () => {
  const gateway = await start();
  const id = keyIdOf(digestOf(gateway.key));
  const explainedCalls = async (...methods: readonly string[]): Promise<unknown> => {
    const calls = methods.map((method, id) => ({ jsonrpc: '2.0', id, method, params: [] }));
    const response = await gateway.post('test', JSON.stringify([...calls, 7]), { 'x-gatehouse-explain': '1' });
    await response.arrayBuffer();
    return (JSON.parse(response.headers.get('x-gatehouse-explain') ?? '{}') as { calls: unknown }).calls;
  };
  const isLimited = async (): Promise<boolean> => (await gateway.post('test', call('debug_traceCall'))).status === 429;
  await gateway.gateway.keys.update(id, { daily: '15' });
  await eventually(isLimited);
  const byQuota = { outcome: 'daily-quota', rejectedBy: 'daily', attempts: [] };
  expect(await explainedCalls('debug_traceCall', 'no_such')).toEqual([
    { method: 'debug_traceCall', requestUnits: 20, ...byQuota },
    { method: 'other', requestUnits: 0.1, ...byQuota },
    { method: 'other', requestUnits: 0.1, ...byQuota },
  ]);
  await gateway.gateway.keys.update(id, { daily: '1000000', methodRates: 'debug_traceCall=0.001/1' });
  await eventually(async () => !(await isLimited()) && (await isLimited()));
  expect(await explainedCalls('debug_traceCall')).toMatchObject([
    { requestUnits: 20, outcome: 'rate-limit', rejectedBy: 'methodRates of debug_traceCall' },
    { requestUnits: 0.1 },
  ]);
});

it('a network file, and a file for all networks, replace request units', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-units-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const file = join(folder, 'units.yaml');
  writeFileSync(file, 'eth_call: 7\neth_chainId: 3\n');
  const gateway = await start({ units: { eth_call: '5 + overrides', 'debug_*': 4 } }, { UNITS_FILE: file });
  const { explained } = await chargeOf(
    gateway,
    ['eth_call', [{}, 'latest', { [`0x${'ab'.repeat(20)}`]: {} }]],
    ['eth_chainId'],
    ['debug_traceCall'],
  );
  expect(explained).toEqual([6, 3, 4]);
});

it('methods of a wildcard cost what docs/reference/methods.md says, or the units of the network, by default 1', async () => {
  const methods = ['debug_*', 'trace_*', 'bor_*', 'eth_getCompilers'];
  const gateway = await start({ methods, units: { 'trace_b*': 33 } });
  const { explained } = await chargeOf(
    gateway,
    ['debug_traceCall'],
    ['debug_traceBlockByNumber'],
    ['debug_getBadBlocks'],
    ['trace_block'],
    ['trace_callMany'],
    ['bor_getAuthor'],
    ['eth_getCompilers'],
    ['debug_setHead'],
  );
  expect(explained).toEqual([20, 50, 5, 33, 10, 1, 1, 0.1]);
});
