import { expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { addKey } from '../routing/two-keys.ts';
import { hang, slow } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import type { TestGateway } from '../support/gateway.ts';
import { contracts, hex, LogChain } from './log-chain.ts';
import { errorIn, responseWith, send, untilFinal, withLogNodes, type Sent } from './with-log-nodes.ts';

async function bufferedBytes({ address }: TestGateway): Promise<number | undefined> {
  return (await readMetrics(address)).value('gatehouse_buffered_bytes');
}

/** The range that the message of a rejection names. */
function fittingRange(sent: Sent): readonly [string, string] {
  const { message = '' } = errorIn(sent) ?? {};
  const [, from = '', to = ''] = /fromBlock (0x[0-9a-f]+) and toBlock (0x[0-9a-f]+) would fit$/.exec(message) ?? [
    message,
  ];
  return [from, to];
}

it('maxBlockRange bounds logs and traces', async () => {
  const chain = new LogChain(10_000, () => 1);
  const { gateway, ranges } = await withLogNodes(chain, [{ maxBlocks: 500 }], { bounds: { maxBlockRange: 2_000 } });
  for (const method of ['eth_getLogs', 'trace_filter']) {
    const sent = await send(gateway, method, [{ fromBlock: '0x0', toBlock: hex(2_000) }]);
    expect(errorIn(sent)).toEqual({
      code: -32005,
      message: 'maxBlockRange is 2000: the request has 2001 blocks; fromBlock 0x0 and toBlock 0x7cf would fit',
    });
    expect(ranges(method)).toEqual([[]]);
    const fits = await send(gateway, method, [{ fromBlock: '0x0', toBlock: hex(1_999) }]);
    expect(fits.text).toBe(responseWith(chain.logs(0, 1_999)));
  }
});

it('beyond maxResponseBytes of the key, the rejection names a range that fits', async () => {
  const chain = new LogChain(10_000, (block) => (block > 3_000 ? 3 : 1));
  const { gateway } = await withLogNodes(chain, [{ maxBlocks: 500 }]);
  const url = await addKey(gateway, 'test', { maxResponseBytes: '1000000' });
  const getLogs = async (fromBlock: string, toBlock: string): Promise<Sent> => {
    const body = { jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [{ fromBlock, toBlock }] };
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
    return { status: response.status, text: await response.text() };
  };
  const rejected = await getLogs(hex(0), hex(9_999));
  expect(rejected.status).toBe(200);
  expect(errorIn(rejected)?.code).toBe(-32005);
  expect(errorIn(rejected)?.message).toContain('maxResponseBytes is 1000000: the response has more bytes; ');
  const [from, to] = fittingRange(rejected);
  expect([from, Number(to) > 1_000]).toEqual(['0x0', true]);
  expect((await getLogs(from, to)).text).toBe(responseWith(chain.logs(0, Number(to))));
  const dense = await getLogs(hex(5_000), hex(9_999));
  const [denseFrom, denseTo] = fittingRange(dense);
  expect(denseFrom).toBe(hex(5_000));
  expect((await getLogs(denseFrom, denseTo)).text).toBe(responseWith(chain.logs(5_000, Number(denseTo))));
});

it('beyond the share of the memory budget, the rejection names a range that fits', async () => {
  const chain = new LogChain(10_000, () => 1);
  const env = { BODIES_MAX_BYTES: '6000000', BODY_MAX_BYTES: '100000' };
  const { getLogs, gateway } = await withLogNodes(chain, [{ maxBlocks: 500 }, { maxBlocks: 500 }], {}, env);
  const rejected = await getLogs(0, 9_999);
  expect(rejected.status).toBe(200);
  expect(errorIn(rejected)?.code).toBe(-32005);
  const [from, to] = fittingRange(rejected);
  expect([from, Number(to) > 1_000]).toEqual(['0x0', true]);
  expect((await getLogs(from, to)).text).toBe(responseWith(chain.logs(0, Number(to))));
  // More than half of the 3 MB: the response is no copy.
  expect((await getLogs(0, 7_499)).text).toBe(responseWith(chain.logs(0, 7_499)));
  expect(await bufferedBytes(gateway)).toBeLessThan(100_000);
});

it('a rejected request in a batch releases its parts before the other calls end', async () => {
  const chain = new LogChain(10_000, () => 1);
  const { gateway, nodes } = await withLogNodes(chain, [{ maxBlocks: 500 }], {
    bounds: { maxResponseBytes: 2_000_000 },
  });
  nodes[0]?.always(hang, 'eth_getBalance');
  const balance = { method: 'eth_getBalance', params: [`0x${'11'.repeat(20)}`, 'latest'] };
  const logs = { method: 'eth_getLogs', params: [{ fromBlock: '0x0', toBlock: hex(9_999) }] };
  const batch = [balance, logs].map((call, id) => ({ jsonrpc: '2.0', id, ...call }));
  const caller = new AbortController();
  const options = { method: 'POST', body: JSON.stringify(batch), signal: caller.signal };
  const response = fetch(gateway.url('test'), options).catch(() => 'aborted');
  await eventually(async () => {
    const { value } = await readMetrics(gateway.address);
    return value('gatehouse_calls_total', { method: 'eth_getLogs', outcome: 'beyond-bound' }) === 1;
  });
  expect(await bufferedBytes(gateway)).toBeLessThan(100_000);
  caller.abort();
  expect(await response).toBe('aborted');
});

it('after the time for one call, the rejection names a range that fits', async () => {
  const chain = new LogChain(100_000, () => 0);
  const env = { CALL_TIMEOUT_MS: '3000' };
  const { getLogs, nodes } = await withLogNodes(chain, [{ maxBlocks: 100 }], {}, env);
  await getLogs(0, 199);
  nodes[0]?.always(slow(200), 'eth_getLogs');
  const rejected = await getLogs(0, 99_999);
  expect(rejected.status).toBe(200);
  expect(errorIn(rejected)?.message).toContain('the time for one call is over; ');
  expect(fittingRange(rejected)[0]).toBe('0x0');
});

it('parts count in the concurrency of the key', async () => {
  const chain = new LogChain(20_000, () => 1);
  const { gateway, nodes } = await withLogNodes(chain, [{ maxBlocks: 1_000 }]);
  await send(gateway, 'eth_getLogs', [{ fromBlock: '0x0', toBlock: hex(1_999) }]);
  let [inProgress, most] = [0, 0];
  nodes[0]?.always(async (exchange) => {
    most = Math.max(most, ++inProgress);
    await slow(200)(exchange);
    inProgress--;
  }, 'eth_getLogs');
  const post = async (url: string, filter: object): Promise<number> => {
    most = 0;
    const params = [{ fromBlock: '0x0', toBlock: hex(19_999), ...filter }];
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params });
    const text = await (await fetch(url, { method: 'POST', body })).text();
    expect(text === responseWith(chain.logs(0, 19_999))).toBe(true);
    return most;
  };
  expect(await post(await addKey(gateway, 'test', { concurrency: '2' }), {})).toBe(2);
  expect(await post(gateway.url('test'), { address: contracts })).toBe(4);
});

it('groups of addresses of a part are requested one after the other, each address once', async () => {
  const chain = new LogChain(100, () => 4);
  const { getLogs, nodes } = await withLogNodes(chain, [{ maxAddresses: 1 }]);
  let [inProgress, most] = [0, 0];
  nodes[0]?.always(async (exchange) => {
    most = Math.max(most, ++inProgress);
    await slow(50)(exchange);
    inProgress--;
  }, 'eth_getLogs');
  const [one = '', ...others] = contracts;
  const address = [one, `0x${one.slice(2).toUpperCase()}`, ...others];
  expect((await getLogs(7, 7, { address })).text).toBe(responseWith(chain.logs(7, 7)));
  expect(most).toBe(1);
});

it('with the memory budget used up, the request fails at once, also if the upstreams have limits', async () => {
  const chain = new LogChain(100, (block) => (block < 10 ? 800 : 1_300));
  const env = { BODIES_MAX_BYTES: '6000000', BODY_MAX_BYTES: '100000' };
  const limited = (urls: readonly string[]): object => ({
    upstreams: urls.map((url, index) => ({ name: `node-${index}`, url, limits: { perSecond: 10_000 } })),
  });
  const { getLogs, ranges } = await withLogNodes(chain, [{ maxBlocks: 10 }], limited, env);
  expect((await getLogs(0, 0)).text).toBe(responseWith(chain.logs(0, 0)));
  expect(errorIn(await getLogs(0, 19))).toBeDefined();
  expect(ranges()[0]?.length, 'one block, the range, and its parts').toBeLessThanOrEqual(6);
});

it('a request costs what its parts cost, if that is more; those that are refused or cached are free', async () => {
  const chain = new LogChain(20_000, () => 1, 19_000);
  const nodes = await withLogNodes(chain, [{ maxBlocks: 1_000 }]);
  await untilFinal(nodes);
  const url = await addKey(nodes.gateway, 'test', { permissions: 'explain', rate: '1000000' });
  const unitsOf = async (to: number): Promise<unknown> => {
    const params = [{ fromBlock: '0x0', toBlock: hex(to), topics: [] }];
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params });
    const response = await fetch(`${url}?explain`, { method: 'POST', body });
    expect((await response.text()) === responseWith(chain.logs(0, to))).toBe(true);
    const { calls } = JSON.parse(response.headers.get('x-gatehouse-explain') ?? '') as { calls: object[] };
    return calls[0];
  };
  expect(await unitsOf(999), 'one request').toMatchObject({ requestUnits: 12 });
  expect(await unitsOf(14_999), '2 and a hundredth of the blocks, for each of 15 parts').toMatchObject({
    requestUnits: 180,
  });
  expect(await unitsOf(14_999), 'cached').toMatchObject({ requestUnits: 100 });
});

it('parts wait for the rate limit of the key, and the rejection names the range that has arrived', async () => {
  const chain = new LogChain(20_000, () => 1);
  const { gateway, getLogs, ranges } = await withLogNodes(chain, [{ maxBlocks: 1_000 }]);
  // At the other end, so that no part of the request is cached.
  await getLogs(18_000, 19_999);
  // The units of the call are back after 1,000 s.
  const url = await addKey(gateway, 'test', { rate: '0.1', burst: '10' });
  const body = { jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [{ fromBlock: '0x0', toBlock: hex(19_999) }] };
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  const sent = { status: response.status, text: await response.text() };
  expect(errorIn(sent)?.message).toContain('project ID request rate exceeded; ');
  // The 100 units of the call are those of eight parts.
  expect(fittingRange(sent)).toEqual(['0x0', hex(7_999)]);
  expect(ranges()[0]?.length).toBeLessThan(15);
});
