import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../gateway/config/package.ts';
import { startAnvil } from '../test/support/anvil.ts';
import { slow } from '../test/support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../test/support/fake-node.ts';
import { writeTable } from '../test/support/page-table.ts';
import { median, show } from './figures.ts';
import { cpuMicroseconds, option, removeFolder, stopAllAndWait } from './processes.ts';
import { blockObject, logObject, receiptObject } from './soak/block-objects.ts';
import { appendBlock, findBlock, makeGenesis, type TrueBlock } from './soak/true-chain.ts';
import { startGateway } from './start-gateway.ts';

/**
 * Measures what `verify: enforce` costs: CPU of the gateway and time by call, beside `off`, for one call at a time to a real
 * node (anvil), and for ranges of old logs to two scripted nodes that respond after 5 ms. Each call is about another block, so that
 * nothing is cached. Writes its table into docs/measured/verify.md.
 *
 *   npm run bench -- verify [--blocks 60]
 */
const CHAIN_ID = 1337;
const levels = ['off', 'enforce'] as const;
/** A block with so many transfers has about 200 kB as JSON. */
const [SMALL_BLOCK, LARGE_BLOCK] = [20, 400];
const WARM_UP_CALLS = 200;
/** Ranges of old logs: one block in 50 has a log. */
const [RANGE_BLOCKS, BLOCKS_PER_LOG, RANGES, NODE_MS] = [1_000, 50, 6, 5];

interface Block {
  readonly hash: string;
  readonly transactions: readonly string[];
}

interface Cost {
  readonly cpuMs: number;
  readonly ms: number;
}

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-verify-'));
const anvil = await startAnvil({ chainId: CHAIN_ID });
const oldBlocks = chainWithLogs();
const oldNodes = await Promise.all([0, 1].map(() => startNodeOf(oldBlocks)));
try {
  const count = option('blocks', 60);
  const [account = ''] = (await send(anvil.url, 'eth_accounts', [])) as string[];
  const [warm, small, large] = [
    await mine(account, count, SMALL_BLOCK),
    await mine(account, count, SMALL_BLOCK),
    await mine(account, Math.ceil(count / 3), LARGE_BLOCK),
  ];
  const upstreams = ['127.0.0.1', 'localhost'].map((host) => ({
    name: host,
    url: anvil.url.replace('127.0.0.1', host),
  }));
  const files = levels.map((verify) => [
    verify,
    { name: verify, chainId: CHAIN_ID, failsafe: { hedgeAfterMs: 'off' }, verify, upstreams },
  ]);
  const oldUpstreams = oldNodes.map(({ url }, at) => ({ name: `node-${at}`, url }));
  const ofOldLogs = files.map(([verify, file]) => [
    `old-${verify as string}`,
    { ...(file as object), name: `old ${verify as string}`, upstreams: oldUpstreams },
  ]);
  const gateway = await startGateway(folder, {
    networks: Object.fromEntries([...files, ...ofOldLogs]) as Record<string, object>,
    env: { WORKERS: '1' },
  });
  const urlOf = (level: string): string =>
    `http://127.0.0.1:${gateway.port}${gateway.paths[0]?.replace(/^\/[\w-]+/, `/${level}`) ?? ''}`;
  const measure = async (level: string, calls: readonly unknown[][]): Promise<Cost> => {
    const times: number[] = [];
    const before = cpuMicroseconds(gateway.pid);
    for (const [method, ...params] of calls) {
      const startedAt = performance.now();
      await send(urlOf(level), method as string, params);
      times.push(performance.now() - startedAt);
    }
    return { cpuMs: (cpuMicroseconds(gateway.pid) - before) / 1_000 / calls.length, ms: median(times) };
  };
  const read = (of: readonly Block[]): [name: string, calls: unknown[][]][] => {
    const calls = (callOf: (block: Block) => unknown[]): unknown[][] => of.map(callOf);
    return [
      ['`eth_getBlockByHash`, 20 transactions', calls(({ hash }) => ['eth_getBlockByHash', hash, true])],
      ['`eth_getBlockReceipts`', calls(({ hash }) => ['eth_getBlockReceipts', hash])],
      ['`eth_getLogs` of a block without logs', calls(({ hash: blockHash }) => ['eth_getLogs', { blockHash }])],
      ['`eth_getBalance`', calls(({ hash: blockHash }) => ['eth_getBalance', account, { blockHash }])],
    ];
  };
  const lookups = (of: readonly Block[]): [name: string, calls: unknown[][]][] => [
    ['`eth_getTransactionByHash`', of.map(({ transactions }) => ['eth_getTransactionByHash', transactions[0]])],
    ['`eth_getTransactionReceipt`', of.map(({ transactions }) => ['eth_getTransactionReceipt', transactions[1]])],
  ];
  // V8 compiles the code of both levels.
  for (let sent = 0; sent < WARM_UP_CALLS; sent += warm.length)
    for (const [, calls] of [...read(warm), ...lookups(warm)]) for (const level of levels) await measure(level, calls);
  const rows = [['', 'CPU, off', 'CPU, enforce', 'median, off', 'median, enforce']];
  // Lookups use blocks of their own: otherwise the evidence is known already.
  const own = await mine(account, count, SMALL_BLOCK);
  const receipts = await mine(account, count, SMALL_BLOCK);
  const largeCalls = large.map(({ hash }) => ['eth_getBlockByHash', hash, true]);
  const [byHash, byReceipt] = [lookups(own)[0], lookups(receipts)[1]];
  const measured = [...read(small), ...[byHash, byReceipt].filter((row) => row !== undefined)];
  const ranges = Array.from({ length: RANGES }, (_, at) => {
    const [fromBlock, toBlock] = [at * RANGE_BLOCKS + 1, (at + 1) * RANGE_BLOCKS].map((one) => `0x${one.toString(16)}`);
    return ['eth_getLogs', { fromBlock, toBlock }];
  });
  for (const level of levels) await measure(`old-${level}`, ranges.slice(0, 1));
  for (const [name, calls, prefix] of [
    ...measured.map(([name, calls]) => [name, calls, ''] as const),
    ['`eth_getBlockByHash`, 400 transactions', largeCalls, ''] as const,
    ['`eth_getLogs` of 1,000 old blocks, nodes of 5 ms', ranges.slice(1), 'old-'] as const,
  ]) {
    const [off, enforce] = [await measure(`${prefix}off`, calls), await measure(`${prefix}enforce`, calls)];
    rows.push([name, ...[off.cpuMs, enforce.cpuMs, off.ms, enforce.ms].map((ms) => `${show(ms)} ms`)]);
    console.log(rows.at(-1)?.join(' | '));
  }
  writeTable(join(packageRoot, 'docs/measured/verify.md'), 'costs', rows, `npm run bench -- verify --blocks ${count}`);
} finally {
  await stopAllAndWait();
  await Promise.all([anvil.stop(), ...oldNodes.map((node) => node.close())]);
  removeFolder(folder);
}

/** Blocks of the measured ranges, and some above. */
function chainWithLogs(): TrueBlock[] {
  const blocks = [makeGenesis(1_700_000_000)];
  while (blocks.length < (RANGES + 1) * RANGE_BLOCKS)
    blocks.push(appendBlock(blocks.at(-1) as TrueBlock, blocks.length % BLOCKS_PER_LOG === 0 ? 1 : 0));
  return blocks;
}

/** A node that responds after 5 ms. */
async function startNodeOf(blocks: readonly TrueBlock[]): Promise<FakeNode> {
  const head = blocks.at(-1) as TrueBlock;
  const find = (named: unknown): TrueBlock =>
    (named === 'latest' ? head : (findBlock(head, named as string) ?? blocks[Number(named)])) ?? head;
  const blockOf = ([named, isFull]: readonly unknown[]): object => blockObject(find(named), isFull === true);
  const logsOf = ([{ fromBlock, toBlock }]: readonly [{ fromBlock: string; toBlock: string }]): unknown =>
    blocks
      .slice(Number(fromBlock), Number(toBlock) + 1)
      .filter(({ logCount }) => logCount > 0)
      .map((block) => logObject({ block, index: 0 }));
  const receiptsOf = ([named]: readonly unknown[]): unknown => [0, 1].map((index) => receiptObject(find(named), index));
  const responses = {
    ...{ eth_blockNumber: `0x${head.number.toString(16)}`, eth_getLogs: logsOf, eth_getBlockReceipts: receiptsOf },
    ...{ eth_getBlockByNumber: blockOf, eth_getBlockByHash: blockOf },
  };
  const node = await startFakeNode({ chainId: CHAIN_ID, responses });
  for (const method of [undefined, 'eth_getBlockByNumber']) node.always(slow(NODE_MS), method);
  return node;
}

/** Mines blocks with transfers. */
async function mine(account: string, blocks: number, transfers: number): Promise<Block[]> {
  await send(anvil.url, 'evm_setAutomine', [false]);
  const mined: Block[] = [];
  for (let block = 0; block < blocks; block++) {
    for (let transfer = 0; transfer < transfers; transfer++) {
      const to = `0x${(block * transfers + transfer + 0x1000).toString(16).padStart(40, '0')}`;
      await send(anvil.url, 'eth_sendTransaction', [{ from: account, to, value: '0x1', gas: '0x5208' }]);
    }
    await send(anvil.url, 'evm_mine', []);
    mined.push((await send(anvil.url, 'eth_getBlockByNumber', ['latest', false])) as Block);
  }
  return mined;
}

/** @returns the result @throws Error with the response if it has none */
async function send(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { result, error } = (await response.json()) as { result?: unknown; error?: unknown };
  if (error !== undefined || (result ?? undefined) === undefined) {
    if (method.startsWith('evm_') && error === undefined) return result;
    throw new Error(`${method}: ${JSON.stringify(error ?? result)}`);
  }
  return result;
}
