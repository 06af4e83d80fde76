import { describe, expect, it, onTestFinished } from 'vitest';
import { blockObject, logObject, receiptObject } from '../../bench/soak/block-objects.ts';
import { appendBlock, makeGenesis, type TrueBlock } from '../../bench/soak/true-chain.ts';
import { asUsual, type Behaviour } from '../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway } from '../support/gateway.ts';

const CHAIN_ID = 7_007;
const HEAD = 1_700;
const FROM = 101;
/** Number of blocks per log. */
const STEP = 50;

const blocks: TrueBlock[] = [makeGenesis(1_700_000_000)];
for (let number = 1; number <= HEAD; number++)
  blocks.push(appendBlock(blocks[number - 1] as TrueBlock, number % STEP === 0 ? 1 : 0));
const byHash = new Map(blocks.map((block) => [block.hash, block]));
const hex = (number: number): string => `0x${number.toString(16)}`;
const find = (named: unknown): TrueBlock | undefined =>
  named === 'latest' ? blocks.at(-1) : (byHash.get(named as string) ?? blocks[Number(named)]);

interface Filter {
  readonly fromBlock: string;
  readonly toBlock: string;
}

async function nodes(count: number): Promise<FakeNode[]> {
  const blockOf = ([named, isFull]: readonly unknown[]): unknown => {
    const block = find(named);
    return block === undefined ? null : blockObject(block, isFull === true);
  };
  const logsOf = ([{ fromBlock, toBlock }]: readonly [Filter]): unknown =>
    blocks
      .slice(Number(fromBlock), Number(toBlock) + 1)
      .filter(({ logCount }) => logCount > 0)
      .map((block) => logObject({ block, index: 0 }));
  const responses = {
    ...{ eth_blockNumber: hex(HEAD), eth_getBlockByNumber: blockOf, eth_getBlockByHash: blockOf, eth_getLogs: logsOf },
    eth_getBlockReceipts: ([named]: readonly unknown[]) =>
      [0, 1].map((index) => receiptObject(find(named) as TrueBlock, index)),
  };
  const all = await Promise.all(Array.from({ length: count }, () => startFakeNode({ chainId: CHAIN_ID, responses })));
  onTestFinished(() => Promise.all(all.map((node) => node.close())).then(() => undefined));
  return all;
}

const logs = (from: number, count: number) =>
  ['eth_getLogs', [{ fromBlock: hex(from), toBlock: hex(from + count - 1) }]] as const;

interface Costs {
  readonly label: string | null;
  /** Calls to upstreams for the measured call, by method. */
  readonly calls: Readonly<Record<string, number>>;
  /** Number of calls in each HTTP request. */
  readonly sizes: readonly number[];
}

/**
 * Costs of the last of some calls, after the gateway has the head.
 * @param upstream options of each upstream @param behaviour of the nodes for blocks
 */
async function costsOf(
  count: number,
  upstream: object,
  sent: readonly (readonly [method: string, params: unknown])[],
  behaviour?: Behaviour,
): Promise<Costs> {
  const all = await nodes(count);
  const upstreams = all.map(({ url }, index) => ({ name: `node-${index}`, url, ...upstream }));
  const options = { methods: ['eth'], verify: 'enforce', failsafe: { hedgeAfterMs: 'off' }, cache: 'off', upstreams };
  const gateway = await startGateway({ test: network(CHAIN_ID, [], options) });
  onTestFinished(() => gateway.stop());
  await gateway.call('test', 'eth_blockNumber', []);
  for (const node of all)
    for (const method of ['eth_getBlockByNumber', 'eth_getBlockByHash']) node.always(behaviour, method);
  let label: string | null = null;
  for (const [method, params] of sent) {
    for (const node of all) node.calls.length = 0;
    const response = await gateway.post('test', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    expect(await response.json()).toHaveProperty('result');
    label = response.headers.get('x-gatehouse-verified');
  }
  // Polls of heads belong to no call.
  const own = all.flatMap((node) => node.calls).filter(({ params }) => !JSON.stringify(params).includes('latest'));
  const calls: Record<string, number> = {};
  for (const { method: name } of own) calls[name] = (calls[name] ?? 0) + 1;
  const bodies = [...new Set(own.map(({ body, connection }) => `${connection} ${body}`))];
  const sizes = bodies.map((text) => [JSON.parse(text.slice(text.indexOf(' '))) as unknown].flat().length);
  return { label, calls, sizes };
}

/** Calls that prove the logs of `count` blocks. The header of the last block is requested from two groups. */
function callsFor(count: number): Costs['calls'] {
  const matching = count / STEP;
  const headers = { eth_getBlockByNumber: count + 1 };
  return { eth_getLogs: 1, ...headers, eth_getBlockByHash: matching, eth_getBlockReceipts: matching };
}

describe('the logs of old blocks', { timeout: 60_000 }, () => {
  it('are proven with one header each and the matching blocks, in few requests where the upstream takes batches', async () => {
    const costs = await costsOf(3, {}, [logs(FROM, 1_000)]);
    expect(costs).toMatchObject({ label: 'root', calls: callsFor(1_000) });
    expect(costs.sizes.length).toBeLessThanOrEqual(30);
  });

  it('are proven with as many calls where it takes none', async () => {
    const costs = await costsOf(3, { batch: false }, [logs(FROM, 200)]);
    expect(costs).toMatchObject({ label: 'root', calls: callsFor(200) });
    expect(new Set(costs.sizes)).toEqual(new Set([1]));
  });
});

describe('the logs of old blocks cost no headers', { timeout: 60_000 }, () => {
  it('if too few upstreams confirm the hash of the last one', async () => {
    const costs = await costsOf(2, { audit: 'off' }, [logs(FROM, 1_000)]);
    expect(costs).toMatchObject({ label: 'no', calls: { eth_getLogs: 1 } });
    expect(costs.calls).not.toHaveProperty('eth_getBlockByNumber');
  });

  it('if the form of the last one is not known', async () => {
    const costs = await costsOf(2, {}, [logs(FROM, 1_000)], ({ response, text }) => {
      response.end(text.replaceAll(/"gasUsed":"0x[0-9a-f]*"/g, '"gasUsed":"0x7","l1BatchNumber":"0x1"'));
    });
    expect(costs).toMatchObject({ label: 'no', calls: { eth_getLogs: 1, eth_getBlockByNumber: 2 } });
  });
});

it('the receipts of blocks with transactions of an unknown type are not requested', { timeout: 60_000 }, async () => {
  const costs = await costsOf(2, {}, [logs(FROM, 1_000)], ({ response, text }) => {
    response.end(text.replaceAll(/"type":"0x[0-9a-f]+"/g, '"type":"0x55"'));
  });
  expect(costs.label).toBe('no');
  expect(costs.calls).toHaveProperty('eth_getBlockByHash');
  expect(costs.calls).not.toHaveProperty('eth_getBlockReceipts');
});

it('an upstream that rejects a long batch gets shorter ones', { timeout: 60_000 }, async () => {
  const costs = await costsOf(2, {}, [logs(FROM, 100), logs(FROM + 200, 100)], (exchange) => {
    const { response, text } = exchange;
    if (!text.startsWith('[') || (JSON.parse(text) as unknown[]).length <= 10) asUsual(exchange);
    else response.end('{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large"}}');
  });
  expect(costs).toMatchObject({ label: 'root', calls: callsFor(100) });
  expect(Math.max(...costs.sizes)).toBe(10);
});

it('an upstream that rejects batches of receipts still gets those of clients', { timeout: 60_000 }, async () => {
  const [node] = (await nodes(1)) as [FakeNode];
  // Its batches are not compared with single calls.
  const upstreams = [{ name: 'node', url: node.url, batch: true }];
  const options = { methods: ['eth'], verify: { level: { eth_getLogs: 'enforce' } }, cache: 'off', upstreams };
  const gateway = await startGateway({ test: network(CHAIN_ID, [], options) });
  onTestFinished(() => gateway.stop());
  node.response('eth_getStorageAt', '0x1');
  node.always((exchange) => {
    if (exchange.text.startsWith('[')) exchange.response.writeHead(413).end();
    else asUsual(exchange);
  }, 'eth_getBlockReceipts');
  const [method, params] = logs(FROM, 1_000);
  const response = await gateway.post('test', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  expect(response.headers.get('x-gatehouse-verified')).toBe('root');
  const sizeOf = ({ body }: { body: string }): number => [JSON.parse(body) as unknown].flat().length;
  const receipts = node.callsOf('eth_getBlockReceipts').map(sizeOf);
  expect(Math.max(...receipts)).toBeGreaterThan(1);
  const body = Array.from({ length: 30 }, (_, id) => {
    const params = [`0x${'11'.repeat(20)}`, hex(id), hex(HEAD)];
    return { jsonrpc: '2.0', id, method: 'eth_getStorageAt', params };
  });
  await gateway.post('test', JSON.stringify(body));
  expect(Math.max(...node.callsOf('eth_getStorageAt').map(sizeOf))).toBeGreaterThan(1);
});
