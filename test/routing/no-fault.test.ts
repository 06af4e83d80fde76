import { describe, expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { asUsual, hang, type Exchange } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { hedged, shiftClock, storageParams, withNodes, word, type WithNodes } from './with-nodes.ts';

async function isUp({ gateway }: WithNodes, upstream: string): Promise<boolean> {
  return (await readMetrics(gateway.address)).value('gatehouse_upstream_up', { upstream }) === 1;
}

describe('an upstream that does not respond', () => {
  it('has not failed if the batch left the call too little time', async () => {
    const clock = shiftClock();
    const all = await withNodes(1, { CALL_TIMEOUT_MS: '3000', batchConcurrency: '1' });
    await all.request();
    all.nodes[0]?.next((exchange) => {
      clock.forward(2_800);
      asUsual(exchange);
    });
    all.nodes[0]?.next(hang);
    const calls = [word(8), word(9)].map((position, id) => {
      const params = [storageParams[0], position, 'latest'];
      return { jsonrpc: '2.0', id, method: 'eth_getStorageAt', params };
    });
    const response = await all.gateway.post('test', JSON.stringify(calls));
    expect(await response.json()).toMatchObject([
      { id: 0, result: word(1) },
      { id: 1, error: { message: 'no upstream could answer' } },
    ]);
    expect(await isUp(all, 'node-0')).toBe(true);
    expect(await all.request()).toMatchObject({ result: word(1) });
    expect(all.requestCounts()).toEqual([4]);
  });

  it('has failed if the call had enough time', async () => {
    const all = await withNodes(1, { CALL_TIMEOUT_MS: '1000' });
    await all.request();
    // A successful poll of its head would keep the circuit closed.
    all.nodes[0]?.always(hang, 'eth_getBlockByNumber');
    for (let times = 0; times < 3; times++) {
      all.nodes[0]?.next(hang);
      expect(await all.request()).toMatchObject({ error: { message: 'no upstream could answer' } });
    }
    expect(await isUp(all, 'node-0')).toBe(false);
    expect(all.requestCounts()).toEqual([4]);
  });
});

it('an upstream whose hedges lose each time is not considered slow', async () => {
  const all = await withNodes(2, {}, hedged);
  for (let times = 0; times < 5; times++)
    await Promise.all([all.request(), all.request(), all.request(), all.request()]);
  for (const node of all.nodes) node.calls.length = 0;
  all.nodes[1]?.always(hang);
  // Counted as slow calls, three would mark the method as unsupported, and five would open the circuit.
  for (let times = 1; times <= 6; times++) {
    let response: () => void = () => undefined;
    all.nodes[0]?.next((exchange: Exchange) => {
      response = () => {
        asUsual(exchange);
      };
    });
    const call = all.request();
    await eventually(() => all.requestCounts()[1] === times);
    response();
    expect(await call).toMatchObject({ result: word(1) });
  }
  expect(await isUp(all, 'node-1')).toBe(true);
  all.nodes[1]?.always(undefined);
  await all.nodes[0]?.refuse();
  expect(await all.request()).toMatchObject({ result: word(2) });
  expect(all.requestCounts()).toEqual([6, 7]);
});
