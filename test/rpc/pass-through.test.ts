import { describe, expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { bareError, body, cutInHeaders, hang, status } from '../support/behaviours.ts';
import { rpcError, type FakeNode } from '../support/fake-node.ts';
import { shiftClock, untilHeadsPolled, withNodes, word, type WithNodes } from '../routing/with-nodes.ts';

const methods = [
  'eth',
  'debug_*',
  'trace_*',
  '-debug_traceChain',
  'eth_getCompilers',
  'debug_setHead',
  'eth_sendTransaction',
];
const others = ['ots_*', 'erigon_*', 'bor_*', 'arbtrace_*'];
const trace = 'debug_traceTransaction';
const hash = word(5);

async function withTraces(count = 2, env: Record<string, string> = {}, more: object = {}): Promise<WithNodes> {
  const all = await withNodes(count, env, { methods, ...more });
  for (const node of all.nodes) {
    for (const method of [trace, 'trace_filter', 'eth_getCompilers', 'debug_setHead', 'eth_sendTransaction'])
      node.response(method, { of: method });
  }
  return all;
}

const countsOf = ({ nodes }: WithNodes, method: string): number[] => nodes.map((node) => node.callsOf(method).length);

describe('methods without a schema', () => {
  it('are served, with parameters and result as they are', async () => {
    const all = await withTraces(1);
    const params = [{ any: [1, null] }, 'x'];
    for (const method of [trace, 'trace_filter', 'eth_getCompilers', 'debug_setHead']) {
      expect((await all.send(method, params)).response).toEqual({ jsonrpc: '2.0', id: 1, result: { of: method } });
      expect(all.nodes[0]?.callsOf(method)[0]?.params).toEqual(params);
    }
  });

  const unserved = [
    'debug_traceChain',
    'debug_writeBlockProfile',
    'debug_WriteMemProfile',
    'debug_startCPUProfile',
    'debug_goTrace',
    'debug_chaindbCompact',
    'debug_setGCPercent',
    'debug_freezeClient',
    'debug_verbosity',
    'debug_standardTraceBlockToFile',
    'debug_traceBlockFromFile',
    'debug_deleteChainSlice',
    'debug_batchSendRawTransaction',
    'debug_getConfigValue',
    'debug_sync',
    'trace_subscribe',
    'debug_trace-block',
    'debug_',
    `debug_${'x'.repeat(61)}`,
    'Debug_traceCall',
    'eth_hashrate',
    'bor_getAuthor',
    'admin_peers',
  ];
  it(`are not served, and no upstream gets them: ${unserved.join(', ')}`, async () => {
    const all = await withTraces(1);
    for (const method of unserved) {
      all.nodes[0]?.response(method, true);
      const message = `The method ${method} does not exist/is not available`;
      expect((await all.send(method, [])).response.error).toEqual({ code: -32_601, message });
      expect([method, countsOf(all, method)]).toEqual([method, [0]]);
    }
  });

  it('are not cached, coalesced or deduplicated', async () => {
    const all = await withTraces(1, { CACHE_MAX_BYTES: '1000000' });
    await Promise.all([all.send(trace, ['0x1']), all.send(trace, ['0x1']), all.send(trace, ['0x1'])]);
    const call = { jsonrpc: '2.0', id: 1, method: trace, params: ['0x1'] };
    await all.gateway.post('test', JSON.stringify([call, call]));
    expect(countsOf(all, trace)).toEqual([5]);
  });

  it.each<[string, unknown]>([
    ['an unknown error', rpcError(-32_000, 'tracing failed')],
    ['a result that is too large', rpcError(-32_005, 'query returned more than 10000 results')],
    ['a revert', rpcError(3, 'execution reverted')],
    ['invalid parameters', rpcError(-32_602, 'missing value for required argument 0')],
    ['null', null],
    ['0x', '0x'],
  ])('are not sent to another upstream after %s', async (_, response) => {
    const all = await withTraces();
    all.nodes[0]?.response(trace, response);
    const { response: received } = await all.send(trace, ['0x1']);
    expect(received).not.toMatchObject({ result: { of: trace } });
    expect(countsOf(all, trace)).toEqual([1, 0]);
  });

  // Reports of squid-sdk 559, nitro 1964 and 2156, blockbook 1489.
  it.each<[string, string, readonly unknown[]]>([
    [trace, 'transaction not found', ['0x1']],
    [trace, 'transaction indexing is in progress', ['0x1']],
    [trace, 'required historical state unavailable (reexec=128)', ['0x1']],
    ['debug_traceBlockByNumber', 'missing trie node 0xabc (path )', ['0x1']],
    ['debug_traceBlockByNumber', 'historical state 0xabc is not available', ['0x1']],
    ['debug_traceBlockByNumber', 'block #1 not found', ['0x1']],
    ['debug_traceBlockByHash', `block ${hash} not found`, [hash]],
    ['debug_traceBlockByHash', 'cannot query unfinalized data', [hash]],
    ['trace_block', 'no state found for block 1', ['0x1']],
    ['trace_filter', 'header not found', [{ fromBlock: '0x1', toBlock: '0x1' }]],
    ['ots_getBlockDetails', 'block not found: 1', [1]],
    ['erigon_getHeaderByNumber', 'old data not available due to pruning', ['0x1']],
    ['bor_getAuthor', 'unknown block', ['0x1']],
    ['arbtrace_block', 'unsupported block number 1', ['0x1']],
    ['debug_traceBlockByNumber', 'historical state not available in path scheme yet', ['0x1']],
    ['debug_traceBlockByNumber', 'state recreation l2 gas depth limit exceeded', ['0x1']],
    ['debug_traceBlockByNumber', "state histories haven't been fully indexed yet", ['0x1']],
    ['trace_block', 'history has been pruned for this block', ['0x1']],
    ['trace_block', 'parent header #0(0x5ac1) not found', ['0x1']],
    ['trace_block', 'could not find block 1', ['0x1']],
    [trace, `parent ${hash} not found`, ['0x1']],
    [trace, 'txn not found', ['0x1']],
  ])('that read are sent to another upstream if the first lacks what %s needs: %s', async (method, message, params) => {
    const all = await withTraces(2, {}, { methods: [...methods, ...others] });
    all.nodes[0]?.response(method, rpcError(-32_000, message));
    all.nodes[1]?.response(method, [{ of: method }]);
    expect((await all.send(method, params)).response.result).toEqual([{ of: method }]);
    expect(countsOf(all, method)).toEqual([1, 1]);
  });

  it('that change something are not, and the error does not say that all upstreams were asked', async () => {
    const all = await withTraces();
    all.nodes[0]?.response('debug_setHead', rpcError(-32_000, 'missing trie node 0xabc (path )'));
    const message = 'none of the 1 upstreams that were tried could answer: missing trie node 0xabc (path )';
    expect((await all.send('debug_setHead', ['0x1'])).response.error).toEqual({ code: -32_603, message });
    expect(countsOf(all, 'debug_setHead')).toEqual([1, 0]);
  });

  it('that no upstream can execute have the text of an upstream, and all were asked', async () => {
    const all = await withTraces();
    for (const node of all.nodes) node.response(trace, rpcError(-32_000, 'transaction not found'));
    await all.request();
    await untilHeadsPolled(all);
    expect((await all.send(trace, ['0x1'])).response.error).toEqual({
      code: -32_000,
      message: 'transaction not found',
    });
    const message = 'required historical state unavailable (reexec=128)';
    for (const node of all.nodes) node.response(trace, rpcError(-32_000, message));
    const error = { code: -32_603, message: `no upstream could answer: ${message}` };
    expect((await all.send(trace, ['0x1'])).response.error).toEqual(error);
    expect(countsOf(all, trace)).toEqual([2, 2]);
  });

  it.each<[string, (block: string) => readonly unknown[]]>([
    ['debug_traceBlockByNumber', (block) => [block, {}]],
    ['debug_traceCall', (block) => [{}, block, {}]],
    ['debug_traceCallMany', (block) => [[{}], { blockNumber: block }]],
    ['trace_call', (block) => [{}, ['trace'], block]],
    ['trace_filter', (block) => [{ fromBlock: block, toBlock: block }]],
    ['trace_block', (block) => [block]],
    ['arbtrace_call', (block) => [{}, ['trace'], block]],
    ['ots_hasCode', (block) => [`0x${'ab'.repeat(20)}`, block]],
    ['ots_hasCode', (block) => [`0x${'ab'.repeat(20)}`, Number(block)]],
    ['erigon_getBalanceChangesInBlock', (block) => [block]],
  ])(
    '%s of an old block is sent to an archive, or else to an upstream that did not lack it',
    async (method, params) => {
      shiftClock();
      for (const archive of [true, false]) {
        const all = await withNodes(2, {}, { methods: [...methods, ...others] }, [{}, { archive }]);
        all.nodes.forEach((node, index) => {
          const block = { number: '0x10000', gasLimit: '0x1c9c380', timestamp: '0x65000000', transactions: [] };
          node.response(method, [index]);
          node.response('eth_getBlockByNumber', block);
        });
        await all.request();
        await untilHeadsPolled(all);
        const result = async (block: string) => (await all.send(method, params(block))).response.result;
        expect(await result('0x10000')).toEqual([0]);
        if (!archive) {
          all.nodes[0]?.response(method, rpcError(-32_000, 'missing trie node 0xabc (path )'));
          expect(await result('0x101')).toEqual([1]);
        }
        expect(await result('0x100')).toEqual([1]);
        expect(countsOf(all, method)).toEqual(archive ? [1, 1] : [2, 2]);
      }
    },
  );

  it.each<[string, (block: string) => readonly unknown[]]>([
    ['debug_traceBlockByNumber', (block) => [block, {}]],
    ['trace_call', (block) => [{}, ['trace'], block]],
    ['trace_filter', (block) => [{ fromBlock: block, toBlock: block }]],
    ['ots_getBlockDetails', (block) => [Number(block)]],
    ['erigon_getHeaderByNumber', (block) => [block]],
    ['bor_getAuthor', (block) => [block]],
    ['debug_getRawBlock', (block) => [block]],
  ])(
    '%s of a new block is sent to the upstream that has it, also if another one is an archive',
    async (method, params) => {
      shiftClock();
      const all = await withNodes(2, {}, { methods: [...methods, ...others] }, [{ archive: true }, {}]);
      all.nodes.forEach((node, index) => {
        const number = index === 0 ? '0x10000' : '0x10004';
        node.response(method, [index]);
        node.response('eth_getBlockByNumber', {
          ...{ number, gasLimit: '0x1c9c380', timestamp: '0x65000000', transactions: [] },
        });
      });
      await all.request();
      await untilHeadsPolled(all);
      expect((await all.send(method, params('0x10004'))).response.result).toEqual([1]);
      expect(countsOf(all, method)).toEqual([0, 1]);
    },
  );

  it('are served with anything as their block', async () => {
    const all = await withNodes(2, {}, { methods: others });
    for (const node of all.nodes) node.response('ots_getBlockDetails', { of: 'ots' });
    for (const block of [1.5, -1, 1e30, true, null, {}, []]) {
      const { result } = (await all.send('ots_getBlockDetails', [block])).response;
      expect([block, result]).toEqual([block, { of: 'ots' }]);
    }
  });

  it('have their parameters unchanged, also those that name a block', async () => {
    const all = await withTraces(1);
    const params = [[{}], { blockNumber: 'latest', transactionIndex: 0 }];
    all.nodes[0]?.response('debug_traceCallMany', []);
    expect((await all.send('debug_traceCallMany', params)).response.result).toEqual([]);
    expect(all.nodes[0]?.callsOf('debug_traceCallMany')[0]?.params).toEqual(params);
  });

  it('have no null of an upstream that lags, and are not sent to another one for it', async () => {
    shiftClock();
    const all = await withTraces(3);
    all.nodes.forEach((node, index) => {
      const block = { number: index === 0 ? '0x20' : '0x10', gasLimit: '0x1c9c380', timestamp: '0x65000000' };
      node.response('eth_getBlockByNumber', { ...block, transactions: [] });
    });
    await all.request();
    await untilHeadsPolled(all);
    all.nodes[0]?.always(status(503), trace);
    all.nodes[1]?.response(trace, null);
    const error = { code: -32_603, message: 'none of the 2 upstreams that were tried could answer' };
    expect(await all.send(trace, ['0x1'])).toMatchObject({ status: 503, response: { error } });
    expect(countsOf(all, trace)).toEqual([1, 1, 0]);
  });

  it('are not sent to another upstream after a response that is not JSON-RPC', async () => {
    const all = await withTraces();
    all.nodes[0]?.next(body('[]'), trace);
    const error = { code: -32_603, message: 'none of the 1 upstreams that were tried could answer' };
    expect(await all.send(trace, ['0x1'])).toMatchObject({ status: 503, response: { error } });
    expect(countsOf(all, trace)).toEqual([1, 0]);
  });

  it.each<[string, (node: FakeNode) => void]>([
    [
      'does not support them',
      (node) => {
        node.response(trace, rpcError(-32_601, 'the method does not exist'));
      },
    ],
    [
      'rejects them because of its rate limit',
      (node) => {
        node.always(bareError(-32_007, '15/second request limit reached'), trace);
      },
    ],
    [
      'rejects the credentials',
      (node) => {
        node.always(status(401), trace);
      },
    ],
    [
      'is overloaded',
      (node) => {
        node.always(status(503), trace);
      },
    ],
    [
      'closes the connection',
      (node) => {
        node.always(cutInHeaders, trace);
      },
    ],
    [
      'does not respond',
      (node) => {
        node.always(hang, trace);
      },
    ],
  ])('are sent to another upstream if the first one %s', async (_, set) => {
    const all = await withTraces(2, { UPSTREAM_TIMEOUT_MS: '1000' });
    set(all.nodes[0] as FakeNode);
    expect((await all.send(trace, ['0x1'])).response.result).toEqual({ of: trace });
    expect(countsOf(all, trace)).toEqual([1, 1]);
  });

  it.each<[string, Parameters<FakeNode['always']>[0]]>([
    ['closes the connection', cutInHeaders],
    ['does not respond', hang],
    ['returns 502', status(502)],
  ])('that change something are not sent again if the first upstream %s', async (_, behaviour) => {
    const changing = ['eth_sendTransaction', 'debug_setHead'];
    for (const [method, count] of changing.flatMap((one) => [[one, 1] as const, [one, 2] as const])) {
      const all = await withTraces(count, { UPSTREAM_TIMEOUT_MS: '1000' });
      // The connection is kept alive: a closed one could be an old one.
      await all.send(method, [{}]);
      all.nodes[0]?.always(behaviour, method);
      expect((await all.send(method, [{}])).status).toBe(503);
      expect(countsOf(all, method)).toEqual([2, 0].slice(0, count));
    }
  });

  it('are in the OpenRPC document, with what they lack', async () => {
    const { gateway } = await withTraces(1);
    const document = (await (await fetch(`${gateway.address}/test/openrpc.json`)).json()) as {
      methods: { name: string; summary: string; 'x-pass-through'?: true }[];
      'x-pass-through': { methods: string[]; except: string[]; summary: string };
    };
    const summary = expect.stringContaining(
      'never hedged or cached, and sent again after a response only to read what',
    ) as string;
    expect(document['x-pass-through']).toEqual({
      methods: ['debug_*', 'trace_*'],
      except: ['debug_traceChain'],
      summary,
    });
    const entry = document.methods.find(({ name }) => name === 'debug_setHead');
    expect(entry).toMatchObject({ 'x-pass-through': true, summary });
    expect(document.methods.find(({ name }) => name === 'eth_call')).not.toHaveProperty('x-pass-through');
  });

  it('of a wildcard share the labels of the wildcard, whatever callers name', async () => {
    const all = await withTraces(1);
    for (let index = 0; index < 20; index++) await all.send(`debug_x${index}`, []);
    await all.send(trace, ['0x1']);
    const { value, text } = await readMetrics(all.gateway.address);
    const calls = (labels: Record<string, string>) => value('gatehouse_calls_total', { network: 'test', ...labels });
    expect(calls({ method: 'debug_*', outcome: 'method-not-found' })).toBe(20);
    expect(calls({ method: 'debug_*', outcome: 'result' })).toBe(1);
    expect(text).not.toContain('debug_x');
  });

  it('of a wildcard that no upstream supports are not marked, others are', async () => {
    const all = await withTraces();
    all.nodes[0]?.response(trace, rpcError(-32_601, 'the method does not exist'));
    for (let index = 0; index < 5; index++) await all.send(`debug_x${index}`, []);
    for (let times = 0; times < 4; times++) await all.send(trace, ['0x1']);
    expect(countsOf(all, trace)).toEqual([2, 4]);
    const page = await fetch(`${all.gateway.address}/test`, { headers: { accept: 'application/json' } });
    const { networks } = (await page.json()) as { networks: { upstreams: { marks: { method: string }[] }[] }[] };
    const marks = networks[0]?.upstreams.map((upstream) => upstream.marks.map(({ method }) => method));
    expect(marks).toEqual([[trace], []]);
  });
});
