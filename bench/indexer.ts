import { createServer } from 'node:http';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { packageRoot } from '../gateway/config/package.ts';
import { startPonder } from '../test/clients/ponder.ts';
import { writeTable } from '../test/support/page-table.ts';
import { show } from './figures.ts';
import { cpuMicroseconds, freePorts, option, removeFolder, stopAllAndWait } from './processes.ts';
import { addressOf } from './soak/block-parts.ts';
import { logObject, blockObject, receiptObject } from './soak/block-objects.ts';
import { appendBlock, makeGenesis, type TrueBlock } from './soak/true-chain.ts';
import { startGateway } from './start-gateway.ts';

/**
 * Measures what `verify: enforce` costs an indexer: the CPU of the gateway while Ponder indexes a chain with an event in each
 * tenth block, beside `off`. Writes its table into docs/measured/verify.md. `npm run test:clients` installs Ponder.
 *
 *   npm run bench -- indexer [--blocks 50000]
 */
const CHAIN_ID = 7_007;
const BLOCKS_PER_EVENT = 10;
const levels = ['off', 'enforce'] as const;

interface Request {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

interface LogFilter {
  readonly blockHash?: string;
  readonly fromBlock?: string;
  readonly toBlock?: string;
  readonly address?: unknown;
}

const count = option('blocks', 50_000);
const blocks: TrueBlock[] = [makeGenesis(Math.floor(Date.now() / 1_000) - count)];
for (let number = 1; number <= count; number++) {
  const logCount = number % BLOCKS_PER_EVENT === 0 ? 1 : 0;
  blocks.push(appendBlock(blocks[number - 1] as TrueBlock, logCount));
}
const byHash = new Map(blocks.map((block) => [block.hash, block]));
const events = Math.floor(count / BLOCKS_PER_EVENT);
const requests: Record<string, number> = {};
const node = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(parts).toString()) as Request | Request[];
    const respond = ({ id, method, params }: Request): object => {
      requests[method] = (requests[method] ?? 0) + 1;
      return { jsonrpc: '2.0', id, ...resultOf(method, params) };
    };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(Array.isArray(body) ? body.map(respond) : respond(body)));
  });
});
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-indexer-'));
try {
  const [port = 0] = await freePorts(1);
  await new Promise<void>((resolve) => node.listen(port, resolve));
  const upstreams = ['127.0.0.1', 'localhost'].map((host) => ({ name: host, url: `http://${host}:${port}` }));
  const rows = [['', 'CPU of the gateway', 'calls to upstreams', 'time']];
  for (const verify of levels) {
    const network = { name: verify, chainId: CHAIN_ID, failsafe: { hedgeAfterMs: 'off' }, verify, upstreams };
    const gateway = await startGateway(join(folder, verify), { networks: { chain: network }, env: { WORKERS: '1' } });
    for (const method of Object.keys(requests)) requests[method] = 0;
    const [before, startedAt] = [cpuMicroseconds(gateway.pid), performance.now()];
    const url = `http://127.0.0.1:${gateway.port}${gateway.paths[0] ?? ''}`;
    const [ponderPort = 0] = await freePorts(1);
    const ponder = startPonder({ GATEWAY_URL: url, COUNTER: addressOf(0), CHAIN_ID: String(CHAIN_ID) }, ponderPort);
    while (!ponder.isLive() || ponder.indexed() < events) await delay(100);
    const [cpuMs, ms] = [(cpuMicroseconds(gateway.pid) - before) / 1_000, performance.now() - startedAt];
    const stored = (await ponder.readRows()).length;
    if (stored !== events || ponder.errors().length > 0) throw new Error(`${stored} events: ${ponder.errors().join()}`);
    await ponder.stop();
    const calls = Object.values(requests).reduce((sum, one) => sum + one, 0);
    rows.push([`\`verify: ${verify}\``, `${show(cpuMs / 1_000)} s`, String(calls), `${show(ms / 1_000)} s`]);
    console.log(rows.at(-1)?.join(' | '), JSON.stringify(requests));
    gateway.child.kill();
  }
  const command = `npm run bench -- indexer --blocks ${count}`;
  writeTable(join(packageRoot, 'docs/measured/verify.md'), 'indexer', rows, command);
} finally {
  await stopAllAndWait();
  node.closeAllConnections();
  node.close();
  removeFolder(folder);
}

function resultOf(method: string, [first, second]: readonly unknown[]): object {
  switch (method) {
    case 'eth_chainId':
      return { result: `0x${CHAIN_ID.toString(16)}` };
    case 'eth_blockNumber':
      return { result: `0x${count.toString(16)}` };
    case 'eth_getBlockByNumber':
    case 'eth_getBlockByHash': {
      const block = blockOf(first);
      return { result: block === undefined ? null : blockObject(block, second === true) };
    }
    case 'eth_getBlockReceipts': {
      const block = blockOf(first);
      return { result: block === undefined ? null : [0, 1].map((index) => receiptObject(block, index)) };
    }
    case 'eth_getLogs':
      return { result: logsIn(first as LogFilter).map((block) => logObject({ block, index: 0 })) };
    default:
      return { error: { code: -32601, message: `the method ${method} does not exist/is not available` } };
  }
}

/** The blocks of a filter that have a log. All logs have one address. */
function logsIn({ blockHash, fromBlock, toBlock }: LogFilter): TrueBlock[] {
  const found =
    blockHash === undefined ? blocks.slice(numberOf(fromBlock), numberOf(toBlock) + 1) : [blockOf(blockHash)];
  return found.filter((block): block is TrueBlock => block !== undefined && block.logCount > 0);
}

function blockOf(named: unknown): TrueBlock | undefined {
  const isHash = typeof named === 'string' && named.length === 66;
  return isHash ? byHash.get(named) : blocks[numberOf(named)];
}

function numberOf(named: unknown): number {
  if (named === 'earliest') return 0;
  return typeof named === 'string' && named.startsWith('0x') ? Number(named) : count;
}
