import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { digestOf, keyIdOf, makeKey } from '../../../gateway/auth/formats/key.ts';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { eventually } from '../../support/eventually.ts';
import { asUsual, type Exchange } from '../../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { openCaller, socketUrl, type Caller } from '../websocket/caller.ts';

type Line = Record<string, unknown>;

async function open(env: Record<string, string>): Promise<{ gateway: TestGateway; lines: Line[]; node: FakeNode }> {
  const lines: Line[] = [];
  const write = (text: string): void => {
    const line = JSON.parse(text) as Line;
    if (line['msg'] === 'request') lines.push(line);
  };
  const log = pino({ level: 'trace', base: null }, { write });
  const node = await startFakeNode({ chainId: 7, responses: { eth_getTransactionReceipt: null, eth_getLogs: [] } });
  const gateway = await startGateway({ test: network(7, [node.url]) }, env, log);
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
  });
  return { gateway, lines, node };
}

const receipt = { jsonrpc: '2.0', id: 1, method: 'eth_getTransactionReceipt', params: [`0x${'11'.repeat(32)}`] };
const chain = { jsonrpc: '2.0', id: 2, method: 'eth_chainId' };
const other = { jsonrpc: '2.0', id: 3, method: 's3cret_thing' };

it('ACCESS_LOG=on logs a line for each request, with its key, methods and outcome', async () => {
  const { gateway, lines } = await open({ ACCESS_LOG: 'on' });
  const key = keyIdOf(digestOf(gateway.key));
  const ms = expect.any(Number) as number;
  /** Sends a request, and waits for its log line. */
  const lineOf = async (act: () => Promise<unknown>): Promise<Line> => {
    const before = lines.length;
    await act();
    await eventually(() => lines.length > before);
    expect(lines.length).toBe(before + 1);
    const { level, time, ...line } = lines[before] ?? {};
    expect([level, time]).toEqual([30, expect.any(Number)]);
    return line;
  };
  const post = (body: unknown): Promise<Line> => lineOf(() => gateway.post('test', JSON.stringify(body)));
  const common = { requestId: expect.any(String) as string, network: 'test', key, ms, msg: 'request' };

  let requestId: string | null = null;
  const first = await lineOf(async () => {
    requestId = (await gateway.post('test', JSON.stringify(receipt))).headers.get('x-request-id');
  });
  const sent = { upstream: 'node-0', cache: 'miss', attempts: 1 };
  expect(first).toEqual({ ...common, ...sent, requestId, method: 'eth_getTransactionReceipt', outcome: 'null' });
  expect(await post(other)).toEqual({ ...common, method: 'other', outcome: 'method-not-found' });
  expect(await post([receipt, chain])).toEqual({ ...common, ...sent, calls: 2, outcome: 'mixed' });
  expect(await post([chain, chain, chain])).toEqual({ ...common, calls: 3, outcome: 'result' });
  expect(await post('?')).toEqual({ ...common, outcome: 'invalid-request' });

  const unknown = await lineOf(() => fetch(`${gateway.address}/test/v3/${makeKey()}`, { method: 'POST', body: '{}' }));
  expect(unknown).toEqual({ ...common, key: undefined, outcome: 'key-invalid' });
  const upgrade = socketUrl(gateway, 'test', makeKey());
  const rejectedUpgrade = await lineOf(() => openCaller(upgrade).catch(() => undefined));
  expect(rejectedUpgrade).toEqual({ ...common, key: undefined, outcome: 'key-invalid' });

  await gateway.gateway.keys.update(key, { rate: '0.01', burst: '1' });
  // The first puts the key in debt.
  expect(await post([receipt, receipt])).toEqual({ ...common, ...sent, calls: 2, outcome: 'null' });
  const rejected = { rule: expect.any(String) as string, outcome: 'rate-limit' };
  expect(await post([receipt, receipt])).toEqual({ ...common, ...rejected, calls: 2 });
  await gateway.gateway.keys.update(key, { rate: undefined, burst: undefined });
  let caller: Caller | undefined;
  const opened = await lineOf(async () => {
    caller = await openCaller(socketUrl(gateway, 'test'));
  });
  onTestFinished(() => {
    caller?.socket.terminate();
  });
  expect(opened).toEqual({ ...common, outcome: 'upgraded' });
  const message = await lineOf(() => caller?.call('eth_chainId') ?? Promise.resolve());
  expect(message).toEqual({ ...common, method: 'eth_chainId', outcome: 'result' });
  for (const hidden of ['s3cret', gateway.key, digestOf(gateway.key)]) {
    expect(JSON.stringify(lines)).not.toContain(hidden);
  }
});

it('a range that joins an identical call in progress is coalesced', async () => {
  const { gateway, lines, node } = await open({ ACCESS_LOG: 'on' });
  const held: Exchange[] = [];
  node.always((exchange) => void held.push(exchange), 'eth_getLogs');
  const logs = [{ fromBlock: '0x1', toBlock: '0x1' }];
  const first = gateway.call('test', 'eth_getLogs', logs);
  await eventually(() => held.length === 1);
  const second = gateway.call('test', 'eth_getLogs', logs);
  await eventually(async () => (await readMetrics(gateway.address)).value('gatehouse_calls_coalesced_total') === 1);
  node.always(asUsual, 'eth_getLogs');
  for (const exchange of held) asUsual(exchange);
  await Promise.all([first, second]);
  await eventually(() => lines.length === 2);
  expect(lines.map(({ cache }) => cache).toSorted()).toEqual(['coalesced', 'not-cacheable']);
});

it('is off by default', async () => {
  const { gateway, lines } = await open({});
  await gateway.post('test', JSON.stringify(chain));
  await fetch(`${gateway.address}/test/v3/${makeKey()}`, { method: 'POST', body: '{}' });
  expect(lines).toEqual([]);
});
