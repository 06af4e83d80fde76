import { describe, expect, it } from 'vitest';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { normalise } from '../../../gateway/normalise/normalise.ts';
import { methods } from '../../../gateway/spec/methods.generated.ts';
import { asUsual, type Behaviour } from '../../support/behaviours.ts';
import { eventually } from '../../support/eventually.ts';
import type { JsonRpcResponse } from '../../support/gateway.ts';
import { blockAt, shiftClock, untilHeadsPolled, withNodes, word, type WithNodes } from '../with-nodes.ts';

type Log = Record<string, unknown>;

const address = `0x${'a1'.repeat(20)}`;
const topic = word(0xdd);
const filter = { fromBlock: '0x5', toBlock: '0x8', address, topics: [topic, null, [word(1), word(2)]] };
const hex = (number: number): string => `0x${number.toString(16)}`;

/** Bytes of data in each log: parsed, walked over, and checked in steps, as part of a batch. */
const sizes = [0, 4_000, 70_000];

function log(block: number, index: number, bytes: number, more: Log = {}): Log {
  return {
    ...{ address, topics: [topic, word(index), word(1)], data: `0x${'00'.repeat(bytes)}`, blockNumber: hex(block) },
    ...{ blockHash: word(1000 + block), transactionHash: word(block * 100 + index), transactionIndex: hex(index) },
    ...{ logIndex: hex(index), removed: false, ...more },
  };
}

/** Logs by a batch: a result alone may flow. */
async function getLogs({ gateway }: WithNodes, params: object = filter): Promise<JsonRpcResponse> {
  const body = [{ jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [params] }];
  const [response] = (await (await gateway.post('test', JSON.stringify(body))).json()) as JsonRpcResponse[];
  return response ?? expect.fail();
}

/** Sends the configured response with another text in place of one. */
function withText(from: string, to: string): Behaviour {
  return (exchange) => asUsual({ ...exchange, text: exchange.text.replaceAll(from, to) });
}

const countsOf = ({ nodes }: WithNodes): number[] => nodes.map((node) => node.callsOf('eth_getLogs').length);

async function irregularLists({ gateway }: WithNodes): Promise<number> {
  const { samplesOf } = await readMetrics(gateway.address);
  return samplesOf('gatehouse_irregular_logs_total').reduce((sum, { value }) => sum + value, 0);
}

describe.each(sizes)('a list of logs with %i bytes of data each', (bytes) => {
  const right = [log(5, 0, bytes), log(5, 1, bytes), log(6, 0, bytes), log(8, 3, bytes)];
  const change = (at: number, more: Log): Log[] =>
    right.map((one, index) => (index === at ? { ...one, ...more } : one));

  it.each<[string, Log[]]>([
    ['before the range', change(0, { blockNumber: '0x4' })],
    ['after the range', change(3, { blockNumber: '0x9' })],
    ['of another address', change(2, { address: `0x${'a2'.repeat(20)}` })],
    ['with another topic', change(1, { topics: [word(0xde), word(1), word(1)] })],
    ['with another topic at a later position', change(1, { topics: [topic, word(1), word(3)] })],
    ['without a topic of the filter', change(1, { topics: [topic, word(1)] })],
    ['that is null', [...right, null as unknown as Log]],
  ])('and one %s is requested from another upstream, and is an error if all return it', async (_, wrong) => {
    const all = await withNodes(2);
    for (const node of all.nodes) node.response('eth_getLogs', wrong);
    expect((await getLogs(all)).error).toMatchObject({ code: -32_603 });
    expect(countsOf(all)).toEqual([1, 1]);
    all.nodes[1]?.response('eth_getLogs', right);
    expect((await getLogs(all)).result).toEqual(right);
    // The circuits of both are closed: another method is served by the first one.
    expect(await all.request()).toMatchObject({ result: word(1) });
  });

  it.each<[string, Log[], Log[]]>([
    ['in another order', [right[2], right[0], right[1], right[3]] as Log[], right],
    ['twice', [right[0], ...right] as Log[], right],
    ['twice, in two places', [...right, right[0]] as Log[], right],
    [
      'with one index in a transaction',
      change(1, { logIndex: '0x0', transactionIndex: '0x0' }),
      change(1, { logIndex: '0x0', transactionIndex: '0x0' }),
    ],
    [
      'with a later transaction before an earlier one',
      change(0, { transactionIndex: '0x2' }),
      change(0, { transactionIndex: '0x2' }).toSpliced(0, 2, right[1] as Log, { ...right[0], transactionIndex: '0x2' }),
    ],
    ['with two hashes for one height', change(1, { blockHash: word(77) }), change(1, { blockHash: word(77) })],
    ['of which one is removed', change(1, { removed: true }), change(1, { removed: true })],
    ...(['blockNumber', 'blockHash', 'transactionHash', 'transactionIndex', 'logIndex'] as const).map(
      (name): [string, Log[], Log[]] => [`without ${name}`, change(0, { [name]: null }), change(0, { [name]: null })],
    ),
  ])('%s is requested from another upstream, and is put in order if all return it', async (_, irregular, ordered) => {
    const all = await withNodes(3);
    all.nodes[0]?.response('eth_getLogs', irregular);
    for (const node of all.nodes.slice(1)) node.response('eth_getLogs', right);
    expect((await getLogs(all)).result).toEqual(right);
    expect([countsOf(all), await irregularLists(all)]).toEqual([[1, 1, 0], 0]);
    for (const node of all.nodes) node.response('eth_getLogs', irregular);
    expect((await getLogs(all)).result).toEqual(ordered);
    expect([countsOf(all), await irregularLists(all)]).toEqual([[2, 2, 0], 1]);
    // Nothing is marked, and no circuit is open.
    expect(await all.request()).toMatchObject({ result: word(1) });
  });

  it('is in order if the index of a log counts in its transaction', async () => {
    const all = await withNodes(2);
    const logs = [right[0], { ...right[1], logIndex: '0x0' }, ...right.slice(2)];
    all.nodes[0]?.response('eth_getLogs', logs);
    expect((await getLogs(all)).result).toEqual(logs);
    expect(countsOf(all)).toEqual([1, 0]);
  });

  it.each(['blockNumber', 'blockHash', 'address'])(
    'has the last value of a member that is there twice: %s',
    async (name) => {
      const all = await withNodes(1);
      const wrong = { blockNumber: '0x9', blockHash: word(77), address: `0x${'a2'.repeat(20)}` }[name];
      const logs = change(1, { again: wrong });
      all.nodes[0]?.response('eth_getLogs', logs);
      all.nodes[0]?.always(withText('"again"', `"${name}"`), 'eth_getLogs');
      const { error } = await getLogs(all);
      // Two hashes of one height are no error.
      expect([error?.code, await irregularLists(all)]).toEqual(name === 'blockHash' ? [undefined, 1] : [-32_603, 0]);
    },
  );

  it('keeps the digits of its numbers when it is put in order', async () => {
    const all = await withNodes(1);
    const digits = '12345678901234567890123';
    all.nodes[0]?.response('eth_getLogs', change(3, { total: 'digits' }).toReversed());
    all.nodes[0]?.always(withText('"digits"', digits), 'eth_getLogs');
    const body = [{ jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [filter] }];
    expect(await (await all.gateway.post('test', JSON.stringify(body))).text()).toContain(`"total":${digits}`);
    expect(await irregularLists(all)).toBe(1);
  });

  it('of a lone upstream is put in order', async () => {
    const all = await withNodes(1);
    all.nodes[0]?.response('eth_getLogs', right.toReversed());
    expect((await getLogs(all)).result).toEqual(right);
    expect([countsOf(all), await irregularLists(all)]).toEqual([[1], 1]);
  });
});

it('a list is not held against tags, and the case of letters does not matter', async () => {
  const all = await withNodes(2);
  const logs = [log(5, 0, 0, { address: address.toUpperCase().replace('0X', '0x') }), log(900, 0, 0)];
  for (const node of all.nodes) node.response('eth_getLogs', logs);
  for (const range of [{ fromBlock: 'earliest', toBlock: 'latest' }, {}, { fromBlock: '0x5', toBlock: 'safe' }])
    expect((await getLogs(all, { ...filter, fromBlock: undefined, toBlock: undefined, ...range })).result).toEqual(
      logs,
    );
  expect(countsOf(all).reduce((sum, count) => sum + count)).toBe(3);
});

describe('a list that flows', () => {
  const call = { jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [filter] };
  const fetched = async ({ gateway }: WithNodes): Promise<unknown> =>
    ((await (await gateway.post('test', JSON.stringify(call))).json()) as JsonRpcResponse).result;
  const logs = Array.from({ length: 500 }, (_, index) =>
    log(6, index, 3_000, { topics: [topic, word(1), word(1)], ...(index === 400 && { note: 'ü' }) }),
  );
  const swapped = (at: number): Log[] => logs.with(at, logs[at + 1] as Log).with(at + 1, logs[at] as Log);

  it('is requested from another upstream if its first logs are not in order', async () => {
    const all = await withNodes(2);
    all.nodes[0]?.response('eth_getLogs', swapped(1));
    all.nodes[1]?.response('eth_getLogs', logs);
    expect(await fetched(all)).toEqual(logs);
    expect([countsOf(all), await irregularLists(all)]).toEqual([[1, 1], 0]);
  });

  it('keeps its order if later logs are not in order, and is counted', async () => {
    const all = await withNodes(2);
    all.nodes[0]?.response('eth_getLogs', swapped(480));
    expect(await fetched(all)).toEqual(swapped(480));
    await eventually(async () => (await irregularLists(all)) === 1);
    expect(countsOf(all)).toEqual([1, 0]);
  });

  it('is not counted in order, also with logs that must be parsed', async () => {
    const all = await withNodes(1);
    all.nodes[0]?.response('eth_getLogs', logs);
    expect(await fetched(all)).toEqual(logs);
    all.nodes[0]?.response('eth_getLogs', logs.with(450, { ...logs[450], logIndex: 450 }));
    expect(await fetched(all)).toEqual(logs);
    // Behind them in time.
    await all.request();
    expect(await irregularLists(all)).toBe(0);
  });

  it('ends with its connection at a log outside of the range', async () => {
    const all = await withNodes(1);
    all.nodes[0]?.response('eth_getLogs', [...logs, log(9, 0, 0)]);
    await expect(fetched(all)).rejects.toThrow();
  });
});

it('many wrong lists of one upstream do not keep other calls from it', async () => {
  const all = await withNodes(2);
  all.nodes[0]?.response('eth_getLogs', [log(4, 0, 0)]);
  all.nodes[1]?.response('eth_getLogs', [log(5, 0, 0, { topics: [topic, word(0), word(1)] })]);
  for (let round = 0; round < 20; round++) {
    expect((await getLogs(all)).result).toHaveLength(1);
    expect(await all.request()).toMatchObject({ result: word(1) });
  }
});

it('logs that are put in order count as served: reads do not go back', async () => {
  shiftClock();
  const all = await withNodes(2);
  for (const node of all.nodes) {
    node.response('eth_getLogs', [log(0x11, 1, 0), log(0x11, 0, 0), log(5, 0, 0)]);
    node.response('eth_blockNumber', '0x10');
  }
  await all.request();
  await untilHeadsPolled(all);
  const [last] = ((await getLogs(all, { fromBlock: '0x5', toBlock: 'latest', address })).result as Log[]).slice(-1);
  expect(last).toMatchObject({ blockNumber: '0x11', logIndex: '0x1' });
  expect((await all.send('eth_blockNumber', [])).response).toMatchObject({ result: '0x11' });
});

it('a list is put in order once, and only if it is returned', () => {
  const method = methods.find(({ name }) => name === 'eth_getLogs') ?? expect.fail();
  const result = [log(6, 0, 0), log(5, 0, 0)];
  const outcome = normalise(method, [{}], { kind: 'result', result });
  expect(outcome).toMatchObject({ final: false, isIrregular: true });
  expect(outcome.response).toHaveProperty('result', result);
});

it('logs that are not in order are no proven result', async () => {
  const all = await withNodes(2, {}, { verify: { level: { eth_getLogs: 'require' } } });
  for (const node of all.nodes) node.response('eth_getLogs', [log(6, 0, 0), log(5, 0, 0)]);
  expect((await getLogs(all)).error).toMatchObject({ message: expect.stringMatching(/prove/) as string });
});

describe('an empty list for one block', () => {
  const full = `0x${'ff'.repeat(256)}`;

  it.each<[string, string, object, number[]]>([
    ['by its number, whose bloom filter may have logs', full, { fromBlock: '0x10', toBlock: '0x10' }, [1, 1, 0]],
    ['by its hash, whose bloom filter may have logs', full, { blockHash: blockAt('0x10').hash }, [1, 1, 0]],
    ['whose bloom filter has none', `0x${'00'.repeat(256)}`, { fromBlock: '0x10', toBlock: '0x10' }, [1, 0, 0]],
    ['of several', full, { fromBlock: '0xf', toBlock: '0x10' }, [1, 0, 0]],
  ])('%s', async (_, logsBloom, range, counts) => {
    shiftClock();
    const all = await withNodes(3);
    for (const node of all.nodes) {
      node.response('eth_getBlockByNumber', { ...blockAt('0x10'), logsBloom });
      node.response('eth_getLogs', []);
    }
    await all.request();
    await untilHeadsPolled(all);
    expect((await getLogs(all, { ...range, address })).result).toEqual([]);
    expect(countsOf(all)).toEqual(counts);
    const found = [log(16, 0, 0, { blockHash: blockAt('0x10').hash })];
    all.nodes[1]?.response('eth_getLogs', found);
    expect((await getLogs(all, { ...range, address })).result).toEqual(counts[1] === 1 ? found : []);
  });

  const found = [1, 0].map((index) => log(16, index, 0, { blockHash: blockAt('0x10').hash }));
  const ordered = found.toReversed();

  it.each<[string, Log[][], Log[], number[]]>([
    ['before logs that are not in order', [[], found], ordered, [1, 1]],
    ['after logs that are not in order', [found, []], ordered, [1, 1]],
    ['before logs that are not in order, and a list in order', [[], found, ordered], ordered, [1, 1, 1]],
    ['before logs that are not in order, and another empty list', [[], found, []], [], [1, 1, 1]],
    ['before lists of which none is in order', [[], found, found, ordered], ordered, [1, 1, 1, 0]],
  ])('%s', async (_, lists, expected, counts) => {
    shiftClock();
    const all = await withNodes(lists.length);
    for (const [index, node] of all.nodes.entries()) {
      node.response('eth_getBlockByNumber', { ...blockAt('0x10'), logsBloom: full });
      node.response('eth_getLogs', lists[index]);
    }
    await all.request();
    await untilHeadsPolled(all);
    expect((await getLogs(all, { fromBlock: '0x10', toBlock: '0x10', address })).result).toEqual(expected);
    expect(countsOf(all)).toEqual(counts);
  });

  it('of several is confirmed after logs that are not in order', async () => {
    const all = await withNodes(3);
    for (const [index, node] of all.nodes.entries()) node.response('eth_getLogs', index === 0 ? found : []);
    expect((await getLogs(all, { fromBlock: '0x1', toBlock: '0x10', address })).result).toEqual([]);
    expect(countsOf(all)).toEqual([1, 1, 1]);
    all.nodes[2]?.response('eth_getLogs', ordered);
    expect((await getLogs(all, { fromBlock: '0x2', toBlock: '0x10', address })).result).toEqual(ordered);
  });

  it('is not confirmed for a filter with more than 100 values', async () => {
    shiftClock();
    const all = await withNodes(2);
    for (const node of all.nodes) {
      node.response('eth_getBlockByNumber', { ...blockAt('0x10'), logsBloom: full });
      node.response('eth_getLogs', []);
    }
    await all.request();
    await untilHeadsPolled(all);
    const many = (count: number) => Array.from({ length: count }, (_, at) => `0x${at.toString(16).padStart(40, '0')}`);
    await getLogs(all, { fromBlock: '0x10', toBlock: '0x10', address: many(101) });
    expect(countsOf(all)).toEqual([1, 0]);
    await getLogs(all, { fromBlock: '0x10', toBlock: '0x10', address: many(100) });
    expect(countsOf(all)).toEqual([2, 1]);
  });
});
