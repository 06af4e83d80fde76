import { Session, type Profiler } from 'node:inspector';
import { Agent } from 'node:http';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { startFakeNode } from '../test/support/fake-node.ts';
import { network, startGateway } from '../test/support/gateway.ts';
import { table } from '../schemas/markdown-table.ts';
import { post } from './post.ts';

/**
 * Counts what one call enters: the files and functions of gateway/, and the calls of these functions, by V8's precise coverage.
 * The gateway is warm, and runs in this process. Each function has the fewest calls of several equal ones, without timers.
 *
 *   npm run bench -- call-path [--functions PATH]
 *
 * With `--functions`, it lists the functions of one path, such as `eth_call`, with their counts.
 */
// V8 counts no calls of functions that it has inlined.
setFlagsFromString('--no-opt');
setFlagsFromString('--no-maglev');
const WARM_UP = 300;
const ROUNDS = 40;
/** What the gateway does after the response has been read. */
const SETTLE_MS = 5;

interface Path {
  readonly name: string;
  readonly slug: string;
  readonly method: string;
  /** @param number of the call. Equal calls are served from the cache */
  readonly params: (number: number) => unknown[];
}

const hex = (number: number): string => `0x${number.toString(16)}`;
const ofData = (number: number): unknown[] => [
  { to: `0x${'2'.repeat(40)}`, data: `0x${hex(number).slice(2).padStart(64, '0')}` },
  'latest',
];

const paths: readonly Path[] = [
  { name: 'eth_call', slug: 'one', method: 'eth_call', params: ofData },
  { name: 'eth_call, 2 upstreams', slug: 'two', method: 'eth_call', params: ofData },
  { name: 'eth_call, cached', slug: 'one', method: 'eth_call', params: () => ofData(0) },
  { name: 'eth_chainId', slug: 'one', method: 'eth_chainId', params: () => [] },
  {
    name: 'eth_getBlockByNumber',
    slug: 'one',
    method: 'eth_getBlockByNumber',
    params: (number) => [hex(number), false],
  },
];

/** The functions that a call entered, with the number of times. */
type Counts = ReadonlyMap<string, number>;

const node = await startFakeNode({
  chainId: 1,
  responses: {
    eth_call: `0x${'1'.repeat(64)}`,
    eth_getBlockByNumber: ([tag]: [string]) => ({
      ...{ number: tag.startsWith('0x') ? tag : '0x10000', hash: `0x${'a'.repeat(64)}` },
      ...{ parentHash: `0x${'b'.repeat(64)}`, timestamp: '0x65000000', gasLimit: '0x1c9c380', transactions: [] },
    }),
  },
});
const one = network(1, [node.url]);
const gateway = await startGateway({ one, two: network(1, [node.url, `${node.url}/other`]) });
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const session = new Session();
session.connect();
let number = 0;
try {
  for (const path of paths) for (let count = 0; count < WARM_UP; count++) await send(path);
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  const rows = [['one HTTP call, steady state', 'files', 'functions', 'function calls']];
  const at = process.argv.indexOf('--functions');
  for (const path of paths) {
    const counts = await leastOf(path);
    const files = new Set([...counts.keys()].map((name) => name.split(' ')[0]));
    rows.push([path.name, ...[files.size, counts.size, callsOf(counts)].map(String)]);
    if (at !== -1 && process.argv[at + 1] === path.name)
      for (const [name, times] of [...counts].toSorted()) console.log(`${times} ${name}`);
  }
  console.log(table(rows));
} finally {
  session.disconnect();
  agent.destroy();
  await gateway.stop();
  await node.close();
}

async function send({ slug, method, params }: Path): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: params(++number) });
  const response = await post(gateway.url(slug), agent, body);
  if (!response.includes('"result"')) throw new Error(response);
}

async function leastOf(path: Path): Promise<Counts> {
  const rounds: Counts[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    takeCounts();
    await send(path);
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    rounds.push(takeCounts());
  }
  const names = [...(rounds[0]?.keys() ?? [])];
  const fewest = names.map((name) => [name, Math.min(...rounds.map((counts) => counts.get(name) ?? 0))] as const);
  return new Map(fewest.filter(([, times]) => times > 0));
}

function callsOf(counts: Counts): number {
  return [...counts.values()].reduce((sum, times) => sum + times, 0);
}

/** Counts since the previous reading. The key is the file, the offset in it and the function. */
function takeCounts(): Counts {
  const counts = new Map<string, number>();
  const gatewayFolder = new URL('../gateway/', import.meta.url).href;
  session.post('Profiler.takePreciseCoverage', (error, { result }: Profiler.TakePreciseCoverageReturnType) => {
    if (error !== null) throw error;
    for (const { url, functions } of result.filter((script) => script.url.startsWith(gatewayFolder))) {
      const file = relative(fileURLToPath(gatewayFolder), fileURLToPath(url));
      for (const { functionName, ranges } of functions) {
        const [range] = ranges;
        if (range !== undefined && range.count > 0)
          counts.set(`${file} ${range.startOffset} ${functionName}`, range.count);
      }
    }
  });
  return counts;
}
