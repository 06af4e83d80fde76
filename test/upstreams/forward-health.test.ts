import { describe, expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { hang, slow, status, type Behaviour } from '../support/behaviours.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { rpcError } from '../support/fake-node.ts';
import { shiftClock, untilHeadsPolled, withNodes, word } from '../routing/with-nodes.ts';

/** Only the method that hangs has a short timeout: other requests may take long on a loaded machine. */
const shortFor = (method: string, timeoutMs = 150): object => ({ failsafe: { [method]: { timeoutMs } } });
/** Options of the first upstream. */
const shortAtFirst = [shortFor('eth_getStorageAt')];

it('the chain id of an upstream is checked once, not with every call', async () => {
  const { nodes, requestOld: request } = await withNodes(1);
  await Promise.all([request(), request(), request()]);
  await request();
  expect(nodes[0]?.callsOf('eth_chainId')).toHaveLength(1);
});

it('the check of the chain id takes none of the time of the poll after it', async () => {
  const all = await withNodes(2, { UPSTREAM_TIMEOUT_MS: '2000' }, {}, [{ priority: 1 }]);
  for (const method of ['eth_chainId', 'eth_getBlockByNumber']) all.nodes[0]?.always(slow(1_200), method);
  await all.requestOld();
  await untilHeadsPolled(all, 1, ['node-0']);
  const { value } = await readMetrics(all.gateway.address);
  expect(value('gatehouse_head_polls_total', { upstream: 'node-0', outcome: 'transport' })).toBeUndefined();
});

describe('an upstream that is too slow for one call', () => {
  it('keeps its circuit closed if other calls were successful meanwhile', async () => {
    const { nodes, gateway, requestOld: request, send } = await withNodes(2, {}, {}, [shortFor('eth_gasPrice', 2_000)]);
    await request();
    nodes[0]?.always(hang, 'eth_gasPrice');
    nodes[1]?.response('eth_gasPrice', '0x1');
    const slow = send('eth_gasPrice', []);
    await eventually(() => nodes[0]?.callsOf('eth_gasPrice').length === 1);
    expect(await request()).toMatchObject({ result: word(1) });
    expect(await slow).toMatchObject({ response: { result: '0x1' } });
    expect(await request()).toMatchObject({ result: word(1) });
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_upstream_attempts_total', { upstream: 'node-0', outcome: 'slow' })).toBe(1);
    expect(value('gatehouse_upstream_up', { upstream: 'node-0' })).toBe(1);
  });

  it('opens its circuit if no other call was successful since, after three in a row', async () => {
    const { nodes, requestOld: request, send, requestCounts } = await withNodes(2, {}, {}, shortAtFirst);
    for (const node of nodes) node.response('eth_gasPrice', '0x1');
    await send('eth_gasPrice', []);
    for (let times = 0; times < 3; times++) {
      nodes[0]?.next(hang);
      expect(await request()).toMatchObject({ result: word(2) });
    }
    expect(await request()).toMatchObject({ result: word(2) });
    expect(requestCounts()).toEqual([4, 4]);
  });
});

it('any JSON-RPC response closes the circuit of an upstream', async () => {
  const time = shiftClock();
  const { nodes, requestOld: request, gateway, requestCounts } = await withNodes(2);
  for (let times = 0; times < 3; times++) {
    nodes[0]?.next(status(503));
    await request();
  }
  nodes[0]?.response('eth_getStorageAt', rpcError(-32000, 'header not found'));
  time.forward(1_100);
  expect(await request()).toMatchObject({ result: word(2) });
  expect((await readMetrics(gateway.address)).value('gatehouse_upstream_up', { upstream: 'node-0' })).toBe(1);
  expect(requestCounts()).toEqual([4, 4]);
});

describe('an upstream that fails three times in a row', () => {
  it('is skipped for a second, and then gets calls again', async () => {
    const time = shiftClock();
    const { nodes, requestOld: request, requestCounts } = await withNodes(2);
    for (let times = 0; times < 3; times++) {
      nodes[0]?.next(status(503));
      expect(await request()).toMatchObject({ result: word(2) });
    }
    expect(await request()).toMatchObject({ result: word(2) });
    expect(requestCounts()).toEqual([3, 4]);
    time.forward(1_100);
    expect(await request()).toMatchObject({ result: word(1) });
    expect(await request()).toMatchObject({ result: word(1) });
    expect(requestCounts()).toEqual([5, 4]);
  });

  it('gets calls again after a second of real time, too', async () => {
    const { nodes, requestOld: request, requestCounts } = await withNodes(2);
    const start = clock.now();
    for (let times = 0; times < 3; times++) {
      nodes[0]?.next(status(503));
      await request();
    }
    await eventually(async () => (await request()).result === word(1));
    // Jitter shortens the cooldown of 1 s by up to 25 %.
    expect(clock.now() - start).toBeGreaterThan(750);
    expect(requestCounts()[0]).toBe(4);
  });

  it('is skipped twice as long when it fails again', async () => {
    const time = shiftClock();
    const { nodes, requestOld: request, requestCounts } = await withNodes(2);
    nodes[0]?.always(status(503));
    for (let times = 0; times < 3; times++) await request();
    time.forward(1_100);
    await request();
    time.forward(1_100);
    await request();
    expect(requestCounts()).toEqual([4, 5]);
    time.forward(1_000);
    await request();
    expect(requestCounts()).toEqual([5, 6]);
  });

  it('is not skipped longer because many calls failed at once', async () => {
    const time = shiftClock();
    const { nodes, requestOld: request, requestCounts } = await withNodes(2);
    await request();
    nodes[0]?.always(status(503));
    await Promise.all(Array.from({ length: 20 }, request));
    nodes[0]?.always(undefined);
    time.forward(1_100);
    expect(await request()).toMatchObject({ result: word(1) });
    expect(requestCounts()[1]).toBe(20);
  });

  it('delays only one call when it still hangs after the cooldown', async () => {
    const time = shiftClock();
    const { nodes, requestOld: request, requestCounts } = await withNodes(2, {}, {}, shortAtFirst);
    nodes[0]?.always(hang);
    for (let times = 0; times < 3; times++) await request();
    time.forward(1_100);
    await Promise.all([request(), request(), request(), request(), request()]);
    expect(requestCounts()).toEqual([4, 8]);
  });

  it('gets a call as the last resort when the others fail too', async () => {
    const { nodes, requestOld: request, requestCounts } = await withNodes(2);
    nodes[0]?.next(status(503));
    nodes[1]?.always(status(503));
    expect((await request()).error?.code).toBe(-32_603);
    expect(await request()).toMatchObject({ result: word(1) });
    expect(requestCounts()).toEqual([2, 1]);
  });

  it('is down in the metrics until a call is successful', async () => {
    const { gateway, nodes, requestOld: request, requestCounts } = await withNodes(1);
    for (let times = 0; times < 3; times++) {
      nodes[0]?.next(status(503));
      await request();
    }
    expect(await metric(gateway.address, 'gatehouse_upstream_up')).toBe('0');
    await request();
    expect(await metric(gateway.address, 'gatehouse_upstream_up')).toBe('1');
    expect(requestCounts()).toEqual([4]);
  });
});

describe('a kept-alive connection that the only upstream has closed', () => {
  /** Like a server whose keep-alive timeout expires when the call arrives. */
  const close: Behaviour = ({ response }) => void response.socket?.destroy();

  it('is not visible to the caller: the call is sent once more', async () => {
    const { nodes, requestOld: request, requestCounts } = await withNodes(1);
    await request();
    nodes[0]?.next(close);
    expect(await request()).toMatchObject({ result: word(1) });
    expect(requestCounts()).toEqual([3]);
  });

  it('causes one second attempt, not more', async () => {
    const { nodes, send, requestCounts } = await withNodes(1);
    await send();
    nodes[0]?.always(close);
    expect(await send()).toMatchObject({ status: 503 });
    expect(requestCounts()).toEqual([3]);
  });

  it('is replaced when the upstream was restarted', async () => {
    const { nodes, requestOld: request, requestCounts } = await withNodes(1);
    await Promise.all([request(), request(), request()]);
    await nodes[0]?.refuse();
    await nodes[0]?.listen();
    const responses = await Promise.all([request(), request(), request()]);
    expect(responses.map(({ result }) => result)).toEqual([word(1), word(1), word(1)]);
    expect(requestCounts()).toEqual([6]);
  });
});

describe('the head', () => {
  it('is polled after a call, and then at most every 15 seconds while there are calls', async () => {
    const time = shiftClock();
    const { nodes, requestOld: request } = await withNodes(1);
    const polls = () => nodes[0]?.callsOf('eth_getBlockByNumber').length ?? 0;
    expect(polls()).toBe(0);
    await request();
    await eventually(() => polls() === 1);
    await request();
    time.forward(14_000);
    await request();
    expect(polls()).toBe(1);
    time.forward(1_100);
    await request();
    await eventually(() => polls() === 2);
  });

  it('is not polled while there are no calls', async () => {
    const time = shiftClock();
    const { gateway, nodes } = await withNodes(1);
    time.forward(60_000);
    await gateway.call('test', 'eth_chainId');
    await staysTrueFor(50, () => nodes[0]?.calls.length === 0);
  });

  it('can fail to be polled without affecting calls', async () => {
    const { nodes, requestOld: request, requestCounts } = await withNodes(2);
    nodes[0]?.always(status(503), 'eth_getBlockByNumber');
    await request();
    await eventually(() => nodes[0]?.callsOf('eth_getBlockByNumber').length === 1);
    expect(await request()).toMatchObject({ result: word(1) });
    expect(requestCounts()).toEqual([2, 0]);
  });
});

async function metric(address: string, name: string): Promise<string | undefined> {
  const text = await (await fetch(`${address}/metrics`)).text();
  return new RegExp(`^${name}\\{[^}]*\\} (\\S+)$`, 'm').exec(text)?.[1];
}
