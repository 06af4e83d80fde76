import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { metricLabels } from '../../gateway/metrics/instruments.ts';
import { makeKey } from '../../gateway/auth/formats/key.ts';
import { status } from '../support/behaviours.ts';
import { rpcError, startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { readMetrics, type MetricsPage } from './read-metrics.ts';
import { blockEventLoop } from '../support/block-event-loop.ts';
import { eventually } from '../support/eventually.ts';
import { scenarioPause } from '../support/scenario-pause.ts';

const sent = 'something-that-a-caller-sent';
const unknownKey = makeKey();

let node: FakeNode;
let gateway: TestGateway;
let page: MetricsPage;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5 });
  const upstreams = [
    { name: 'node-0', url: `${node.url}/v2/provider-secret`, headers: { authorization: 'Bearer header-secret' } },
    { name: 'node-1', url: 'http://user:password-secret@127.0.0.1:1/' },
  ];
  gateway = await startGateway({ main: network(5, [], { upstreams }) });
  node.response('eth_getStorageAt', rpcError(-32000, 'words-of-the-node'));
  node.next(status(500, 'body-of-the-node'));
  const params = [`0x${'5e'.repeat(20)}`, '0x0', 'latest'];
  for (const method of ['eth_getStorageAt', 'eth_chainId', sent, 'eth_getStorageAt', 'eth_getTransactionReceipt']) {
    await gateway.call('main', method, method === 'eth_chainId' ? [] : params, sent);
  }
  await gateway.post('main', sent, { 'x-request-id': sent, 'content-encoding': sent });
  await gateway.post('main', sent);
  await gateway.post(sent, sent);
  await fetch(`${gateway.address}/main/v3/${unknownKey}?${sent}`, { method: 'POST', body: sent });
  await fetch(`${gateway.address}/main/v3/${sent}`, { method: 'POST', body: sent });
  await fetch(`${gateway.address}/${sent}`);
  page = await readMetrics(gateway.address);
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

describe('the page of metrics', () => {
  it('shows no key, no upstream’s address or credentials, and no text from a caller or a node', () => {
    const secrets = [gateway.key, unknownKey, 'secret', 'password', '127.0.0.1', new URL(node.url).host, 'http://'];
    for (const text of [...secrets, sent, '5e5e', 'words-of-the-node', 'body-of-the-node']) {
      expect(page.text).not.toContain(text);
    }
  });

  it('has no series of a method that was not called', () => {
    const called = page.samples.filter(({ name }) => name === 'gatehouse_call_duration_seconds_count');
    expect(called.map(({ labels }) => labels['method']).toSorted()).toEqual([
      ...['eth_chainId', 'eth_getStorageAt', 'eth_getTransactionReceipt', 'other'],
    ]);
  });

  it('has only names from closed lists as labels', () => {
    const own = page.samples.filter(({ name }) => name.startsWith('gatehouse_'));
    const labels = new Set(own.flatMap((sample) => Object.keys(sample.labels)));
    expect([...Object.keys(metricLabels), 'le']).toEqual(expect.arrayContaining([...labels]));
    expect([...labels]).toEqual(
      expect.arrayContaining(['network', 'upstream', 'method', 'outcome', 'reason', 'class']),
    );
    const valuesOf = (label: string) => new Set(own.flatMap((sample) => sample.labels[label] ?? []));
    expect([...valuesOf('network')]).toEqual(['main']);
    expect([...valuesOf('upstream')].toSorted()).toEqual(['node-0', 'node-1']);
    for (const value of [...valuesOf('outcome'), ...valuesOf('reason'), ...valuesOf('class')]) {
      expect(value).toMatch(/^[a-z]+(-[a-z]+)*$/);
    }
  });

  it('describes each metric once, with help and type', () => {
    const types = [...page.text.matchAll(/^# TYPE (\S+) \S+$/gm)].map(([, name = '']) => name);
    const helps = [...page.text.matchAll(/^# HELP (\S+) \S/gm)].map(([, name = '']) => name);
    expect(helps.toSorted()).toEqual(types.toSorted());
    expect(new Set(helps).size).toBe(helps.length);
    const series = page.samples.map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`);
    expect(new Set(series).size).toBe(series.length);
  });

  it('does not grow with what callers send', async () => {
    const series = async (): Promise<number> => {
      const { samples } = await readMetrics(gateway.address);
      return samples.filter(({ name }) => name.startsWith('gatehouse_')).length;
    };
    const before = await series();
    for (let count = 0; count < 50; count++) {
      await gateway.call('main', `method_${count}`, [count], `id ${count}`);
      await fetch(`${gateway.address}/network-${count}/v3/${makeKey()}`, { method: 'POST' });
    }
    expect(await series()).toBe(before);
  });
});

it('the delay of the event loop is reported, since the last scrape', async () => {
  await readMetrics(gateway.address);
  await eventually(async () => {
    await gateway.call('main', 'eth_chainId');
    // The first tick after a scrape only sets the start time, and the next one measures the delay.
    await scenarioPause(50);
    blockEventLoop(300);
    await scenarioPause(50);
    const { value } = await readMetrics(gateway.address);
    const lags = ['p50', 'p90', 'p99', 'max'].map((name) => value(`nodejs_eventloop_lag_${name}_seconds`) ?? 0);
    return lags.every((lag) => lag > 0) && Math.max(...lags) > 0.25;
  });
});
