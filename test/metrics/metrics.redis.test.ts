import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { version } from '../../gateway/config/package.ts';
import { makeKey } from '../../gateway/auth/formats/key.ts';
import { asUsual, hang, slow, status, type Exchange } from '../support/behaviours.ts';
import { rpcError, startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { startRedis } from '../support/redis.ts';
import { readMetrics } from './read-metrics.ts';

const address = `0x${'12'.repeat(20)}`;
const hash = `0x${'ab'.repeat(32)}`;
const storageParams = [address, '0x0', 'latest'];
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

let node: FakeNode;
let gateway: TestGateway;

beforeEach(async () => {
  node = await startFakeNode({
    chainId: 5,
    responses: { eth_getStorageAt: `0x${'0'.repeat(64)}`, eth_getTransactionReceipt: null },
  });
});
afterEach(async () => {
  await gateway.stop();
  await node.close();
});

async function start(env: Record<string, string> = {}): Promise<void> {
  const urls = [`${node.url}/v2/provider-secret`];
  gateway = await startGateway({ main: network(5, urls), side: network(5, urls) }, env);
}

const page = () => readMetrics(gateway.address);
const post = (body: string) => gateway.post('main', body).then((response) => response.text());

describe('calls', () => {
  beforeEach(() => start());

  const outcomeOf = async (method: string, outcome: string, slug = 'main') =>
    (await page()).value('gatehouse_calls_total', { network: slug, method, outcome });

  it('are counted by network, method and outcome', async () => {
    await gateway.call('main', 'eth_chainId');
    await gateway.call('main', 'eth_chainId');
    await gateway.call('side', 'eth_chainId');
    await gateway.call('main', 'eth_getStorageAt', storageParams);
    await gateway.call('main', 'eth_getTransactionReceipt', [hash]);
    await gateway.call('main', 'eth_getTransactionReceipt', ['0x1']);
    node.response('eth_estimateGas', rpcError(3, 'execution reverted', '0x'));
    await gateway.call('main', 'eth_estimateGas', [{ to: address }]);
    node.response('eth_estimateGas', rpcError(-32000, 'insufficient funds for gas * price + value: have 0 want 1'));
    await gateway.call('main', 'eth_estimateGas', [{ to: address }]);
    node.always(status(500));
    await gateway.call('main', 'eth_estimateGas', [{ to: address }]);

    expect(await outcomeOf('eth_chainId', 'result')).toBe(2);
    expect(await outcomeOf('eth_chainId', 'result', 'side')).toBe(1);
    expect(await outcomeOf('eth_getStorageAt', 'result')).toBe(1);
    expect(await outcomeOf('eth_getTransactionReceipt', 'null')).toBe(1);
    expect(await outcomeOf('eth_getTransactionReceipt', 'invalid-params')).toBe(1);
    expect(await outcomeOf('eth_estimateGas', 'revert')).toBe(1);
    expect(await outcomeOf('eth_estimateGas', 'upstream-error')).toBe(1);
    expect(await outcomeOf('eth_estimateGas', 'no-upstream')).toBe(1);
  });

  it('of a batch are counted one by one, notifications included', async () => {
    const calls = ['"id":1,"method":"eth_chainId"', '"id":2,"method":"no_such"', '"method":"eth_chainId"'];
    await post(`[${calls.map((call) => `{"jsonrpc":"2.0",${call}}`).join()}]`);
    expect(await outcomeOf('eth_chainId', 'result')).toBe(1);
    expect(await outcomeOf('eth_chainId', 'notification')).toBe(1);
    expect(await outcomeOf('other', 'method-not-found')).toBe(1);
  });

  it('of methods that the network does not have are counted as the method other', async () => {
    const names = [
      'zks_estimateFee',
      'eth_nonsense',
      'a"b\n',
      '__proto__',
      ...Array.from({ length: 50 }, (_, n) => `m${n}`),
    ];
    for (const name of names) await gateway.call('main', name);
    expect(await outcomeOf('other', 'method-not-found')).toBe(names.length);
    const methods = (await page()).samples.flatMap(({ labels }) => labels['method'] ?? []);
    expect(methods.filter((method) => method !== 'other' && !/^(eth|net|web3)_[a-zA-Z]+$/.test(method))).toEqual([]);
  });

  it('that are invalid are counted as the method other, by reason', async () => {
    await post('[5,{},{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":{}}]');
    await post('{"jsonrpc":"1.0"}');
    await post('{"jsonrpc":"2.0","method":"eth_chainId","params":{}}');
    expect(await outcomeOf('other', 'invalid-request')).toBe(3);
    expect(await outcomeOf('other', 'invalid-params')).toBe(2);
  });

  it('are timed in buckets from 1 ms to 30 s', async () => {
    node.next(slow(30));
    await gateway.call('main', 'eth_getStorageAt', storageParams);
    const { samples, value } = await page();
    for (const [name, labels] of [
      ['gatehouse_call_duration_seconds', { network: 'main', method: 'eth_getStorageAt' }],
      ['gatehouse_upstream_attempt_duration_seconds', { network: 'main', upstream: 'node-0' }],
    ] as const) {
      const bounds = samples
        .filter((sample) => sample.name === `${name}_bucket` && sample.labels['network'] === 'main')
        .filter(({ labels: own }) => Object.entries(labels).every(([label, text]) => own[label] === text))
        .map(({ labels: own }) => own['le']);
      expect(bounds).toEqual([...buckets.map(String), '+Inf']);
      expect(value(`${name}_sum`, labels)).toBeGreaterThan(0.025);
    }
    const call = { network: 'main', method: 'eth_getStorageAt' };
    expect(value('gatehouse_call_duration_seconds_count', call)).toBe(1);
    expect(value('gatehouse_call_duration_seconds_bucket', { ...call, le: '0.025' })).toBe(0);
    expect(value('gatehouse_call_duration_seconds_bucket', { ...call, le: '30' })).toBe(1);
  });
});

describe('calls in flight', () => {
  const inFlight = async () => (await page()).value('gatehouse_calls_in_flight', { network: 'main' });

  it('are counted only while they are in progress', async () => {
    await start();
    expect(await inFlight()).toBe(0);
    const held: Exchange[] = [];
    node.always((exchange) => void held.push(exchange));
    const calls = [1, 2, 3].map((id) => gateway.call('main', 'eth_getStorageAt', storageParams, id));
    await expect.poll(inFlight).toBe(3);
    await expect.poll(() => held.length).toBeGreaterThan(0);
    for (const exchange of held) asUsual(exchange);
    await Promise.all(calls);
    expect(await inFlight()).toBe(0);
  });

  it('are 0 after errors of every kind', async () => {
    await start({ CALL_TIMEOUT_MS: '1000' });
    node.next(hang);
    await gateway.call('main', 'eth_getStorageAt', storageParams);
    node.next(status(502));
    await gateway.call('main', 'eth_getStorageAt', storageParams);
    await gateway.call('main', 'eth_getStorageAt', []);
    await gateway.call('main', 'eth_getStorageAt', { a: 1 });
    await gateway.call('main', 'no_such');
    await post('{');
    await post('[]');
    await post('[1,2,3]');
    await post('{"jsonrpc":"2.0","method":"no_such"}');
    node.next(hang);
    const aborted = fetch(gateway.url('main'), {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params: storageParams }),
      signal: AbortSignal.timeout(20),
    });
    await expect(aborted).rejects.toThrow('timeout');
    await expect.poll(inFlight).toBe(0);
  });
});

describe('upstreams', () => {
  const upstream = { network: 'main', upstream: 'node-0' };

  it('are up, down and up again, with the last known head', async () => {
    await start();
    const up = async () => (await page()).value('gatehouse_upstream_up', upstream);
    const head = async () => (await page()).value('gatehouse_upstream_head_block', upstream);
    expect(await up()).toBe(1);
    await gateway.call('main', 'eth_getStorageAt', storageParams);
    await expect.poll(head).toBe(16);
    // Three failures in a row open the circuit.
    for (let times = 0; times < 3; times++) {
      node.next(status(500));
      await gateway.call('main', 'eth_getStorageAt', storageParams);
    }
    expect(await up()).toBe(0);
    await gateway.call('main', 'eth_getStorageAt', storageParams);
    expect(await up()).toBe(1);
    expect((await page()).value('gatehouse_upstream_up', { ...upstream, network: 'side' })).toBe(1);
  });

  it('have their attempts counted by outcome', async () => {
    await start();
    const attempts = async (outcome: string) =>
      (await page()).value('gatehouse_upstream_attempts_total', { ...upstream, outcome });
    await gateway.call('main', 'eth_getStorageAt', storageParams);
    await expect.poll(() => attempts('response')).toBeGreaterThanOrEqual(1);
    node.next(status(500));
    await gateway.call('main', 'eth_getStorageAt', storageParams);
    expect(await attempts('transport')).toBe(1);
  });

  it('of another chain are down', async () => {
    node.response('eth_chainId', '0x1');
    await start();
    await gateway.call('main', 'eth_getStorageAt', storageParams);
    expect((await page()).value('gatehouse_upstream_up', upstream)).toBe(0);
  });
});

it('the key store is up, down and up again', async () => {
  const redis = await startRedis();
  await start({ REDIS_URL: redis.url });
  const up = async () => (await page()).value('gatehouse_key_store_up');
  expect(await up()).toBe(1);
  await redis.kill();
  await expect.poll(up).toBe(0);
  await redis.restart();
  await expect.poll(up).toBe(1);
  await redis.stop();
});

it('lookups of keys are counted by outcome', async () => {
  await start();
  await gateway.call('main', 'eth_chainId');
  await gateway.call('main', 'eth_chainId');
  await fetch(`${gateway.address}/main/v3/${makeKey()}`, { method: 'POST', body: '' });
  const { value } = await page();
  expect(value('gatehouse_key_lookups_total', { outcome: 'found' })).toBe(1);
  expect(value('gatehouse_key_lookups_total', { outcome: 'hit' })).toBe(1);
  expect(value('gatehouse_key_lookups_total', { outcome: 'unknown' })).toBe(1);
  expect(value('gatehouse_key_store_up')).toBe(1);
});

it('requests rejected as a whole are counted by reason', async () => {
  await start({ BODY_MAX_BYTES: '100', BATCH_MAX_ITEMS: '1' });
  await post('{');
  await post('[]');
  await post('[1,2]');
  await post(' '.repeat(101));
  await gateway.post('main', '', { 'content-encoding': 'br' });
  await fetch(gateway.url('main'));
  await fetch(`${gateway.address}/main/v3/wrong`, { method: 'POST' });
  await fetch(`${gateway.address}/main/v3/`, { method: 'POST' });
  await fetch(gateway.url('nowhere'), { method: 'POST' });
  const { value } = await page();
  const reasons = ['parse-error', 'empty-batch', 'batch-too-large', 'body-too-large', 'unsupported-encoding'];
  for (const reason of [...reasons, 'verb-not-allowed', 'key-invalid', 'key-missing', 'unknown-network']) {
    expect([reason, value('gatehouse_http_rejections_total', { reason })]).toEqual([reason, 1]);
  }
});

it('the versions of Gatehouse and Node, and metrics of the process, are reported', async () => {
  await start();
  const { value } = await page();
  expect(value('gatehouse_build_info', { version, node: process.version })).toBe(1);
  expect(value('process_cpu_seconds_total')).toBeGreaterThan(0);
  expect(value('nodejs_eventloop_lag_seconds')).toBeGreaterThanOrEqual(0);
});
