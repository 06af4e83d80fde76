import { mkdtempSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keccak256, parseGwei, toHex, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { packageRoot } from '../gateway/config/package.ts';
import { hang, slow } from '../test/support/behaviours.ts';
import { rpcError, startFakeNode, type FakeNode } from '../test/support/fake-node.ts';
import { writeTable } from '../test/support/page-table.ts';
import { median, show } from './figures.ts';
import { post } from './post.ts';
import { option, removeFolder, stopAll } from './processes.ts';
import { startGateway } from './start-gateway.ts';

/**
 * Measures the time until a transaction is accepted: directly at an upstream that takes 20 ms, and through a gateway with
 * `transactions: all`, that upstream, one that hangs and one that rejects every transaction. Both ways take turns, one
 * transaction at a time. Each transaction must arrive once. Writes its table into docs/measured/transactions.md.
 *
 *   npm run bench -- transactions [--count 1000]
 */
const LATENCY_MS = 20;
/** Median times: at most this multiple of the direct ones, and this much above it. */
const [MAX_RATIO, MAX_ADDED_MS] = [1.1, 5];
const CHAIN_ID = 1;
const method = 'eth_sendRawTransaction';
const account = privateKeyToAccount(toHex(0xa11cen, { size: 32 }));

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-transactions-'));
const nodes = await Promise.all([startNode(), startNode(), startNode()]);
const [accepting, hanging, rejecting] = nodes;
const agent = new Agent({ keepAlive: true });
try {
  accepting.always(slow(LATENCY_MS), method);
  hanging.always(hang, method);
  rejecting.response(method, rpcError(-32_000, 'insufficient funds for gas * price + value'));
  await measure(option('count', 1_000));
} finally {
  agent.destroy();
  stopAll();
  await Promise.all(nodes.map((node) => node.close()));
  removeFolder(folder);
}

async function measure(count: number): Promise<void> {
  const names = ['accepts after 20 ms', 'hangs', 'rejects'];
  const upstreams = nodes.map(({ url }, index) => ({ name: names[index]?.replaceAll(' ', '-'), url }));
  const network = { name: 'Transactions', chainId: CHAIN_ID, transactions: 'all', upstreams };
  const { port, paths } = await startGateway(folder, { networks: { main: network } });
  const gateway = `http://127.0.0.1:${port}${paths[0] ?? ''}`;
  const times: Record<'direct' | 'gateway', number[]> = { direct: [], gateway: [] };
  const [wanted, sent] = [new Set<Hex>(), await signAll(2 * count)];
  for (let nonce = 0; nonce < 2 * count; nonce += 2) {
    const [first, second] = sent.slice(nonce, nonce + 2) as [Hex, Hex];
    times.direct.push(await timeOf(accepting.url, first));
    times.gateway.push(await timeOf(gateway, second));
    wanted.add(second);
  }
  const [direct, through] = [median(times.direct), median(times.gateway)];
  const limit = MAX_RATIO * direct + MAX_ADDED_MS;
  const rows = [
    ['upstream', 'transactions', 'more than once'],
    ...nodes.map((node, index) => [names[index] ?? '', ...arrivals(node, wanted).map(String)]),
  ];
  console.log(`median: direct ${show(direct)} ms, through the gateway ${show(through)} ms (limit ${show(limit)} ms)`);
  for (const row of rows) console.log(row.join(' | '));
  const [once, twice] = arrivals(accepting, wanted);
  if (through > limit || once !== count || twice !== 0) {
    process.exitCode = 1;
    return;
  }
  const table = [
    ['', 'direct', 'through Gatehouse'],
    ['median time to acceptance', ...[direct, through].map((ms) => `${show(ms)} ms`)],
    ['99th percentile', ...[times.direct, times.gateway].map((values) => `${show(percentile99(values))} ms`)],
  ];
  writeTable(
    join(packageRoot, 'docs/measured/transactions.md'),
    'transactions',
    table,
    `npm run bench -- transactions --count ${count}`,
  );
}

/** How many of the transactions a node got, and how many of them several times. */
function arrivals(node: FakeNode, wanted: ReadonlySet<Hex>): [number, number] {
  const counts = new Map<Hex, number>();
  for (const { params } of node.callsOf(method)) {
    const [transaction] = params as [Hex];
    if (wanted.has(transaction)) counts.set(transaction, (counts.get(transaction) ?? 0) + 1);
  }
  return [counts.size, [...counts.values()].filter((count) => count > 1).length];
}

/** @throws Error if the transaction is not accepted */
async function timeOf(url: string, transaction: Hex): Promise<number> {
  const startedAt = performance.now();
  const text = await post(url, agent, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [transaction] }));
  const ms = performance.now() - startedAt;
  if (!text.includes(keccak256(transaction))) throw new Error(`a transaction was not accepted: ${text}`);
  return ms;
}

function signAll(count: number): Promise<Hex[]> {
  const sign = (nonce: number): Promise<Hex> =>
    account.signTransaction({
      ...{ type: 'eip1559', chainId: CHAIN_ID, nonce, gas: 21_000n, maxFeePerGas: parseGwei('2') },
      to: `0x${'22'.repeat(20)}`,
    });
  return Promise.all(Array.from({ length: count }, (_, nonce) => sign(nonce)));
}

function percentile99(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1] ?? NaN;
}

function startNode(): Promise<FakeNode> {
  const responses = { [method]: (params: unknown) => keccak256((params as [Hex])[0]) };
  return startFakeNode({ chainId: CHAIN_ID, responses });
}
