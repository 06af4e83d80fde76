import { onTestFinished, describe, expect, it } from 'vitest';
import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { asUsual } from '../support/behaviours.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { rpcError, startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { blocksTo, honest } from './audits/with-audits.ts';

const CHAIN_ID = 7;
const call = ['eth_call', [{ to: `0x${'ab'.repeat(20)}` }, 'latest']] as const;
const balance = ['eth_getBalance', [`0x${'ab'.repeat(20)}`, 'latest']] as const;

interface Reply {
  readonly status: number;
  readonly verified: string | null;
  readonly exposed: string | null;
  readonly body: { readonly result?: unknown; readonly error?: { readonly code: number; readonly message: string } };
}

interface Started {
  readonly gateway: TestGateway;
  readonly nodes: readonly FakeNode[];
  readonly send: (calls: object, headers?: Record<string, string>, key?: string) => Promise<Reply>;
  readonly one: (
    call: readonly [string, readonly unknown[]],
    headers?: Record<string, string>,
    key?: string,
  ) => Promise<Reply>;
  readonly addKey: (permissions: Record<string, string>) => Promise<string>;
}

/** A gateway in front of nodes of one chain, each of which returns one of these for `eth_call`. */
async function start(results: readonly unknown[], more: object): Promise<Started> {
  const blocks = blocksTo();
  const nodes = await Promise.all(
    results.map((result) =>
      startFakeNode({ chainId: CHAIN_ID, responses: { ...honest(blocks), eth_call: result, eth_gasPrice: '0x7' } }),
    ),
  );
  const urls = nodes.map(({ url }) => url);
  const gateway = await startGateway({
    test: network(CHAIN_ID, urls, { methods: ['eth'], failsafe: { hedgeAfterMs: 'off' }, ...more }),
  });
  onTestFinished(async () => {
    await gateway.stop();
    await Promise.all(nodes.map((node) => node.close()));
  });
  const send: Started['send'] = async (calls, headers = {}, key = gateway.key) => {
    const response = await fetch(`${gateway.address}/test/v3/${key}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(calls),
    });
    const { headers: received, status } = response;
    const [verified, exposed] = ['x-gatehouse-verified', 'access-control-expose-headers'].map((name) =>
      received.get(name),
    );
    return {
      status,
      verified: verified ?? null,
      exposed: exposed ?? null,
      body: (await response.json()) as Reply['body'],
    };
  };
  return {
    ...{ gateway, nodes, send },
    one: ([method, params], headers, key) => send({ jsonrpc: '2.0', id: 1, method, params }, headers, key),
    addKey: async (permissions) => {
      const key = makeKey();
      await gateway.gateway.keys.add(digestOf(key), { name: 'a', createdAt: new Date().toISOString(), permissions });
      return key;
    },
  };
}

describe('agree', () => {
  const agree = { verify: { agree: { eth_call: 2 } } };

  it('returns what two upstreams returned, and says so', async () => {
    const { one, nodes } = await start(['0x01', '0x01', '0x02'], agree);
    expect(await one(call)).toMatchObject({ body: { result: '0x01' }, verified: 'agreed:2' });
    expect(nodes.map((node) => node.callsOf('eth_call').length)).toEqual([1, 1, 0]);
  });

  it('returns a revert without a payload that two upstreams returned', async () => {
    const [empty, none] = [rpcError(3, 'execution reverted', '0x'), rpcError(3, 'execution reverted')];
    for (const results of [
      [empty, empty],
      [empty, none],
    ]) {
      const { one } = await start(results, agree);
      expect(await one(call)).toMatchObject({ body: { error: { code: 3 } }, verified: 'agreed:2' });
    }
  });

  it('lets a third upstream decide, also against the first one', async () => {
    for (const results of [
      ['0x01', '0x02', '0x01'],
      ['0x02', '0x01', '0x01'],
    ]) {
      const { one } = await start(results, agree);
      expect(await one(call)).toMatchObject({ body: { result: '0x01' }, verified: 'agreed:2' });
    }
  });

  it('is an error if no two upstreams return the same, or only one has a result', async () => {
    const differing = await start(['0x01', '0x02', '0x03'], agree);
    const { body, verified } = await differing.one(call);
    expect(body.error?.code).toBe(-32603);
    expect(body.error?.message).toContain('3 upstreams returned 3 results');
    expect(verified).toBeNull();
    const alone = await start(['0x01', '0x01'], agree);
    await alone.nodes[1]?.refuse();
    expect((await alone.one(call)).body.error?.message).toContain('only one upstream returned a result');
  });

  it('asks no further upstream once the caller has left', async () => {
    const { gateway, nodes } = await start(['0x01', '0x02', '0x03'], agree);
    const [, second, third] = nodes as [FakeNode, FakeNode, FakeNode];
    let respond: () => void = () => undefined;
    second.always((exchange) => {
      respond = () => {
        asUsual(exchange);
      };
    }, 'eth_call');
    const leave = new AbortController();
    const [method, params] = call;
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const left = fetch(gateway.url('test'), { method: 'POST', body, signal: leave.signal }).catch(() => undefined);
    await eventually(() => second.callsOf('eth_call').length === 1);
    leave.abort();
    await left;
    await eventually(async () => {
      const { value } = await readMetrics(gateway.address);
      return value('gatehouse_calls_total', { outcome: 'caller-left' }) === 1;
    });
    respond();
    await staysTrueFor(300, () => third.callsOf('eth_call').length === 0);
  });

  it('asks all upstreams about the same block, by its hash', async () => {
    const { one, nodes } = await start(['0x01', '0x01'], agree);
    await one(call);
    const blocks = nodes.map((node) => (node.callsOf('eth_call')[0]?.params as unknown[])[1]);
    expect(blocks).toEqual([{ blockHash: blocksTo().at(-1)?.hash }, { blockHash: blocksTo().at(-1)?.hash }]);
  });
});

describe('the level', () => {
  it('enforce returns what cannot be proven, and the response says no', async () => {
    const { one } = await start(['0x01', '0x01'], { verify: 'enforce' });
    const reply = await one(['eth_gasPrice', []]);
    expect(reply).toMatchObject({ body: { result: '0x7' }, verified: 'no' });
    expect(reply.exposed).toContain('X-Gatehouse-Verified');
  });

  it('require returns an error in its place', async () => {
    const { one, nodes } = await start(['0x01', '0x01'], { verify: 'require' });
    for (const method of ['eth_call', 'eth_estimateGas']) {
      const { error } = (await one([method, call[1]])).body;
      expect(error?.message).toContain(`the result of ${method} cannot be proven: \`verify.agree\` compares upstreams`);
      expect(nodes[0]?.callsOf(method)).toEqual([]);
    }
    // No node has proofs.
    expect((await one(balance)).body.error?.message).toContain('could be proven');
  });

  it('require returns advice, which the wallets of a key need and nothing proves, and the response says no', async () => {
    const { one, nodes } = await start(['0x01', '0x01'], { verify: 'require', methods: ['eth', 'net', 'web3'] });
    const feeHistory = { oldestBlock: '0x6d', baseFeePerGas: ['0x7', '0x7'], gasUsedRatio: [0.5] };
    const advice = { eth_gasPrice: '0x7', eth_maxPriorityFeePerGas: '0x1', eth_blobBaseFee: '0x1', eth_syncing: false };
    for (const [method, result] of Object.entries({ ...advice, eth_feeHistory: feeHistory })) {
      for (const node of nodes) node.response(method, result);
      const params = method === 'eth_feeHistory' ? ['0x1', 'latest', []] : [];
      expect(await one([method, params])).toMatchObject({ body: { result }, verified: 'no' });
    }
    // Gatehouse's own.
    expect((await one(['net_version', []])).body.result).toBe(String(CHAIN_ID));
    expect((await one(['web3_clientVersion', []])).body.result).toContain('Gatehouse');
  });

  it('require proves the number of the head, whatever the upstream that gets the call returns', async () => {
    const { one, nodes } = await start(['0x01', '0x01'], { verify: 'require', cache: 'off' });
    const number = () => one(['eth_blockNumber', []]);
    const [before, newest] = blocksTo(111)
      .slice(-2)
      .map((block) => block.number);
    expect(await number()).toMatchObject({ body: { result: before }, verified: 'hash' });
    for (const node of nodes)
      for (const [method, response] of Object.entries(honest(blocksTo(111)))) node.response(method, response);
    // When both have been polled.
    await eventually(async () => (await number()).body.result === newest);
    for (const node of nodes) node.response('eth_blockNumber', before);
    expect(await number()).toMatchObject({ body: { result: newest }, verified: 'hash' });
  });

  it('is that of the method, by name or wildcard', async () => {
    const { one } = await start(['0x01'], { verify: { level: { 'eth_*': 'enforce', eth_call: 'require' } } });
    expect((await one(['eth_gasPrice', []])).verified).toBe('no');
    expect((await one(call)).body.error?.message).toContain('cannot be proven');
  });

  it('names a block in place of a tag, and a client that did not name it gets no error about it', async () => {
    const { one, nodes } = await start(['0x01', '0x01'], { verify: 'enforce' });
    nodes[0]?.response('eth_getLogs', rpcError(-32_000, 'missing trie node'));
    nodes[1]?.response('eth_getLogs', rpcError(-32_602, 'block range extends beyond current head block'));
    const reply = await one(['eth_getLogs', [{ fromBlock: 'latest' }]]);
    expect(reply).toMatchObject({ status: 503, body: { error: { code: -32603 } } });
  });

  it('returns state at a block that another upstream has when the one with the newest block fails, unless that was served', async () => {
    const { one, nodes, gateway } = await start(['0x01', '0x01'], { verify: 'enforce', witnesses: 1, cache: 'off' });
    const [newest] = nodes as [FakeNode, FakeNode];
    for (const [method, response] of Object.entries(honest(blocksTo(111)))) newest.response(method, response);
    // It shows no block to the caller.
    await eventually(async () => {
      await one(['eth_gasPrice', []]);
      return (
        (await readMetrics(gateway.address)).value('gatehouse_upstream_head_block', { upstream: 'node-0' }) === 111
      );
    });
    await newest.refuse();
    expect(await one(balance)).toMatchObject({ status: 200, body: { result: '0x6e' } });
    await newest.listen();
    await eventually(async () => (await one(balance)).body.result === '0x6f');
    await newest.refuse();
    expect(await one(balance)).toMatchObject({ status: 503 });
  });

  it('off sends no header', async () => {
    const { one } = await start(['0x01'], {});
    expect(await one(call)).toMatchObject({ body: { result: '0x01' }, verified: null });
  });

  it('is made stronger by a key and by a header, and never weaker', async () => {
    const { one, addKey } = await start(['0x01'], {});
    const [strict, free] = [
      await addKey({ verify: 'require' }),
      await addKey({ permissions: 'verify', verify: 'enforce' }),
    ];
    expect((await one(call, {}, strict)).body.error?.message).toContain('cannot be proven');
    expect((await one(call, {}, free)).verified).toBe('no');
    expect((await one(call, { 'x-gatehouse-verify': 'require' }, free)).body.error?.message).toContain(
      'cannot be proven',
    );
    expect((await one(call, { 'x-gatehouse-verify': 'off' }, free)).verified).toBe('no');
  });

  it('of a header is rejected if the key has no permission, or if it is not a level', async () => {
    const { one, addKey } = await start(['0x01'], {});
    const free = await addKey({ permissions: 'verify' });
    expect(await one(call, { 'x-gatehouse-verify': 'require' })).toMatchObject({ status: 403 });
    expect(await one(call, { 'x-gatehouse-verify': 'always' }, free)).toMatchObject({ status: 400 });
  });

  it('of a batch is its weakest result', async () => {
    const { send } = await start(['0x01', '0x01'], { verify: { level: 'enforce', agree: { eth_call: 2 } } });
    const [one, other] = [call, ['eth_gasPrice', []] as const].map(([method, params], id) => {
      return { jsonrpc: '2.0', id, method, params };
    });
    expect((await send([one])).verified).toBe('agreed:2');
    expect((await send([one, other])).verified).toBe('no');
  });

  it('is kept by the cache: a result that was not proven is not returned where it must be', async () => {
    const { one, addKey, nodes } = await start(['0x01'], {});
    const free = await addKey({ permissions: 'verify' });
    const block = ['eth_getBlockByHash', [blocksTo().at(-1)?.hash, false]] as const;
    const sent = (): number => nodes[0]?.callsOf('eth_getBlockByHash').length ?? 0;
    // Cached once the gateway follows the block.
    await eventually(async () => {
      const before = sent();
      await one(block, {}, free);
      return sent() === before;
    });
    const cached = sent();
    const { body } = await one(block, { 'x-gatehouse-verify': 'require' }, free);
    // Its header is right, but its lists do not have the roots of the header.
    expect(body.error?.message).toContain('could be proven');
    expect(sent()).toBeGreaterThan(cached);
  });
});
