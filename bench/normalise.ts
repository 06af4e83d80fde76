import { largeAnswer } from '../gateway/jsonrpc/answer.ts';
import { blockHash, largeBlock } from './large-block.ts';
import { judge } from '../gateway/normalise/judge.ts';
import { encodeReason } from '../gateway/normalise/revert-payload.ts';
import type { MethodSpec } from '../gateway/spec/method-spec.ts';
import { methods } from '../gateway/spec/methods.generated.ts';
import { readReply } from '../gateway/upstream/read-reply.ts';

/**
 * CPU per call of what is done to a reply between the upstream's bytes and the caller's: reading, judging, writing.
 * Beside it the least that a gateway can do (bytes to text to bytes), and parsing and writing without rules.
 *
 *   npm run build && node dist/bench/normalise.js
 */
interface Sample {
  readonly name: string;
  readonly method: string;
  readonly params: readonly unknown[];
  readonly body: Buffer;
}

const word = (digit: string): string => `0x${digit.repeat(64)}`;
const address = (digit: string): string => `0x${digit.repeat(40)}`;

const place = { blockHash: word('a'), blockNumber: '0x10' };
const receipt = {
  ...place,
  transactionHash: word('b'),
  transactionIndex: '0x0',
  from: address('1'),
  to: address('2'),
  contractAddress: null,
  cumulativeGasUsed: '0x5208',
  gasUsed: '0x5208',
  effectiveGasPrice: '0x3b9aca00',
  logs: [],
  logsBloom: `0x${'0'.repeat(512)}`,
  status: '0x1',
  type: '0x2',
};
const revert = { code: 3, message: 'execution reverted: the gate is closed', data: encodeReason('the gate is closed') };

const samples: readonly Sample[] = [
  sample('a small receipt', 'eth_getTransactionReceipt', [word('b')], { result: receipt }),
  sample('a revert', 'eth_estimateGas', [{}], { error: revert }),
  sample('an error that no rule knows', 'eth_estimateGas', [{}], { error: { code: -32000, message: 'something new' } }),
  sample('a block of 200 KB', 'eth_getBlockByHash', [blockHash, true], { result: largeBlock }),
];

for (const { name, method, params, body } of samples) {
  const spec = specOf(method);
  const bytes = cpuMicroseconds(() => Buffer.from(body.toString('utf8')).length);
  const parsed = cpuMicroseconds(() => Buffer.from(JSON.stringify(JSON.parse(body.toString('utf8')))).length);
  const judged = cpuMicroseconds(() => {
    const { reply } = judge(spec, params, readReply(200, body, 1));
    if (reply?.kind === 'large') return largeAnswer('1', reply.parts).body.length;
    return Buffer.from(JSON.stringify(reply?.kind === 'result' ? reply.result : reply)).length;
  });
  const columns = [`bytes ${show(bytes)}`, `parsed and written ${show(parsed)}`, `normalised ${show(judged)}`];
  console.log(`${name} (${body.length} bytes): ${columns.join(', ')}`);
}

function sample(name: string, method: string, params: readonly unknown[], outcome: object): Sample {
  return { name, method, params, body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...outcome })) };
}

function specOf(name: string): MethodSpec {
  const spec = methods.find((method) => method.name === name);
  if (spec === undefined) throw new Error(`${name} is not of the specification`);
  return spec;
}

/** The median of several rounds, each as long as it takes to be told from the clock's grain. */
function cpuMicroseconds(work: () => number): number {
  const rounds: number[] = [];
  let sink = 0;
  for (let round = 0; round < 15; round++) {
    const start = process.cpuUsage();
    const until = performance.now() + 150;
    let calls = 0;
    while (performance.now() < until) {
      for (let one = 0; one < 10; one++) sink += work();
      calls += 10;
    }
    const { user, system } = process.cpuUsage(start);
    rounds.push((user + system) / calls);
  }
  if (sink === 0) throw new Error('nothing was done');
  return rounds.sort((a, b) => a - b)[7] ?? 0;
}

function show(microseconds: number): string {
  return `${microseconds.toFixed(microseconds < 10 ? 2 : 0)} µs`;
}
