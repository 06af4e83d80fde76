import { expect, it, onTestFinished } from 'vitest';
import { pino } from 'pino';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { asUsual, type Behaviour, type Exchange } from '../../support/behaviours.ts';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode } from '../../support/fake-node.ts';
import { network, startGateway } from '../../support/gateway.ts';
import { CHAIN_ID, shiftClock, word } from '../../routing/with-nodes.ts';
import { address, requests, storage, withBatches, type TestCall } from './with-batches.ts';

const executionOf = (index: number): TestCall => ['eth_call', [{ to: address, data: `0x${index}0` }, 'latest']];

const sizesOf = (sent: readonly string[][]): number[] => sent.map(({ length }) => length);

it('a node that works on the calls of a batch one after the other gets single calls for ten seconds, which is shown', async () => {
  const clock = shiftClock();
  const node = await startFakeNode({ chainId: CHAIN_ID, responses: { eth_call: '0x01' } });
  node.response('eth_getStorageAt', (params: string[]) => word(Number(params[1])));
  const lines: { msg: string; upstream?: string; reason?: string; forS?: number }[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]) });
  const file = network(CHAIN_ID, [], {
    upstreams: [{ name: 'node', url: node.url }],
    failsafe: { hedgeAfterMs: 'off' },
  });
  const settings = { CACHE_MAX_BYTES: '0', UPSTREAM_CONNECTIONS: '200', batchConcurrency: '200' };
  const gateway = await startGateway({ test: file }, settings, log);
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
  });
  let isSerial = true;
  let waiting: Exchange[] = [];
  // Single calls take 25 ms together: the node works on them at the same time.
  const serve: Behaviour = (exchange) => {
    const calls = [JSON.parse(exchange.text) as unknown].flat().length;
    if (calls === 1 && waiting.push(exchange) < lookups.length) return;
    clock.forward(calls === 1 || !isSerial ? 25 : 25 * calls);
    for (const one of calls === 1 ? waiting : [exchange]) asUsual(one);
    if (calls === 1) waiting = [];
  };
  node.always(serve, 'eth_getStorageAt');
  const lookups = storage(6);
  const calls = [...lookups, executionOf(0), executionOf(1)];
  const body = JSON.stringify(calls.map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params })));
  const post = async (): Promise<number[]> => {
    node.calls.length = 0;
    await gateway.post('test', body);
    return sizesOf(requests(node));
  };
  const isOff = async (): Promise<number | undefined> =>
    (await readMetrics(gateway.address)).value('gatehouse_upstream_batches_off', { upstream: 'node' });
  const shown = async (): Promise<string | undefined> => {
    const response = await fetch(`${gateway.address}/test`, { headers: { accept: 'application/json' } });
    const { networks } = (await response.json()) as { networks: { upstreams: { withoutBatches?: string }[] }[] };
    return networks[0]?.upstreams[0]?.withoutBatches;
  };
  const singly = calls.map(() => 1);
  const untilSingly = async (): Promise<number> => {
    for (let posts = 1; posts < 40; posts++) if (String(await post()) === String(singly)) return posts;
    return Infinity;
  };
  expect(await isOff()).toBe(0);
  // Three pairs, the first single calls being those of the fourth batch.
  expect(await untilSingly()).toBeLessThan(20);
  expect(await isOff()).toBe(1);
  const about = (): typeof lines => lines.filter(({ msg }) => msg.includes('batches'));
  expect(about()).toMatchObject([{ upstream: 'node', reason: 'serial', forS: 10 }]);
  clock.forward(1_000);
  await eventually(async () => (await shown()) === 'serial');
  // One more pair, ten seconds later, shows that it still does so.
  clock.forward(10_000);
  expect(await post()).not.toEqual(singly);
  expect(await untilSingly()).toBeLessThanOrEqual(4);
  expect([await isOff(), about().length]).toEqual([1, 1]);
  isSerial = false;
  clock.forward(10_000);
  for (let posts = 0; posts < 4; posts++) await post();
  expect(await post()).toContain(lookups.length);
  expect(await isOff()).toBe(0);
  expect(about()[1]).toMatchObject({ upstream: 'node', msg: 'client batches are sent as batches again' });
});

it('three pauses of the gateway of 250 ms do not switch batches off', async () => {
  const { node, sendAll, clock } = await withBatches();
  let paused = false;
  node.always((exchange) => {
    // All batches in flight wait for the end of the pause.
    if (paused) clock.forward(250);
    paused = false;
    asUsual(exchange);
  }, 'eth_getStorageAt');
  const positions = storage(8 * 100 * 12);
  for (let wave = 0; wave < 12; wave++) {
    paused = wave % 3 === 2 && wave < 11;
    node.calls.length = 0;
    // Eight clients at once. Each sends other calls, because identical ones would be coalesced.
    const batches = Array.from({ length: 8 }, (_, client) => positions.slice((wave * 8 + client) * 100).slice(0, 100));
    await Promise.all(batches.map(sendAll));
    expect(requests(node).length / batches.length).toBeLessThanOrEqual(20);
  }
});

it('calls of eth_call that a client sent as a batch go upstream as one, apart from its lookups', async () => {
  const { node, sendAll } = await withBatches();
  node.response('eth_call', '0x01');
  const calls = [0, 1, 2].map(executionOf);
  const responses = await sendAll([...storage(2), ...calls]);
  expect(responses.map(({ result }) => result)).toEqual([word(0), word(1), '0x01', '0x01', '0x01']);
  expect(requests(node)).toEqual([
    ['eth_getStorageAt', 'eth_getStorageAt'],
    ['eth_call', 'eth_call', 'eth_call'],
  ]);
});
