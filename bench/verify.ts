import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../gateway/config/package.ts';
import { startAnvil } from '../test/support/anvil.ts';
import { writeTable } from '../test/support/page-table.ts';
import { median, show } from './figures.ts';
import { cpuMicroseconds, option, removeFolder, stopAllAndWait } from './processes.ts';
import { startGateway } from './start-gateway.ts';

/**
 * Measures what `verify: enforce` costs: CPU of the gateway and time by call, beside `off`, for one call at a time to a real
 * node (anvil). Each call is about another block, so that nothing is cached. Writes its table into docs/measured/verify.md.
 *
 *   npm run bench -- verify [--blocks 60]
 */
const CHAIN_ID = 1337;
const levels = ['off', 'enforce'] as const;
/** A block with so many transfers has about 200 kB as JSON. */
const [SMALL_BLOCK, LARGE_BLOCK] = [20, 400];
const WARM_UP_CALLS = 200;

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
  const gateway = await startGateway(folder, {
    networks: Object.fromEntries(files) as Record<string, object>,
    env: { WORKERS: '1' },
  });
  const urlOf = (level: string): string =>
    `http://127.0.0.1:${gateway.port}${gateway.paths[0]?.replace(/^\/\w+/, `/${level}`) ?? ''}`;
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
  for (const [name, calls] of [...measured, ['`eth_getBlockByHash`, 400 transactions', largeCalls] as const]) {
    const [off, enforce] = [await measure('off', calls), await measure('enforce', calls)];
    rows.push([name, ...[off.cpuMs, enforce.cpuMs, off.ms, enforce.ms].map((ms) => `${show(ms)} ms`)]);
    console.log(rows.at(-1)?.join(' | '));
  }
  writeTable(join(packageRoot, 'docs/measured/verify.md'), 'costs', rows, `npm run bench -- verify --blocks ${count}`);
} finally {
  await stopAllAndWait();
  await anvil.stop();
  removeFolder(folder);
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
