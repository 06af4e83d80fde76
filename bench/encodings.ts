import { createHash } from 'node:crypto';
import { createServer as createHttpServer } from 'node:http';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gunzip, gunzipSync, gzip, gzipSync } from 'node:zlib';
import { Pool } from 'undici';
import { freePorts, start, stopAll, untilOpen } from './processes.ts';

/**
 * Measures what compression costs the gateway, in CPU per call: upstream responses (plain, or gzip that is decompressed),
 * and the gateway's own responses. The response is a block of about 200 kB from a separate process.
 *
 *   npm run build && node dist/bench/encodings.js [--calls 1000]
 */
const block = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result: makeBlock(200) }));
const compressedBlock = gzipSync(block);

if (process.argv[2] === 'serve') serve(Number(process.argv[3]));
else await compare(Number(process.argv[3] ?? 1_000));

async function compare(calls: number): Promise<void> {
  const [port = 0] = await freePorts(1);
  start(process.execPath, [fileURLToPath(import.meta.url), 'serve', String(port)]);
  try {
    await untilOpen(port);
    const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 16 });
    const read = async (path: string): Promise<Buffer> => {
      const { body } = await pool.request({ path, method: 'POST', body: '{}' });
      return Buffer.from(await body.arrayBuffer());
    };
    const responses: Record<string, () => Promise<Buffer>> = {
      'upstream response, plain': () => read('/plain'),
      'upstream response, gzip, decompressed in the threadpool': async () => promisify(gunzip)(await read('/gzip')),
      'upstream response, gzip, decompressed synchronously': async () => gunzipSync(await read('/gzip')),
      'response, gzip, level 1': () => promisify(gzip)(block, { level: 1 }),
      'response, gzip, level 6': () => promisify(gzip)(block, { level: 6 }),
    };
    const sizes = [1, 6].map((level) => `level ${level}: ${gzipSync(block, { level }).length}`).join(', ');
    console.log(
      `${cpus()[0]?.model ?? 'unknown CPU'}, Node ${process.version}; ${block.length} bytes, gzip ${sizes}\n`,
    );
    console.log('| what | CPU-µs per call |\n| --- | --- |');
    const rounds = new Map(Object.keys(responses).map((name) => [name, [] as number[]]));
    // Interleaved, so that other load on the machine affects all equally. The first round is the warm-up.
    for (let round = 0; round <= 5; round++) {
      for (const [name, response] of Object.entries(responses)) {
        const cost = await cpuPerCall(response, round === 0 ? calls / 5 : calls);
        if (round > 0) rounds.get(name)?.push(cost);
      }
    }
    for (const [name, costs] of rounds) console.log(`| ${name} | ${costs.sort((a, b) => a - b)[2]?.toFixed(0)} |`);
    await pool.close();
  } finally {
    stopAll();
  }
}

/** User and system time of all threads of this process, with 16 calls in progress. */
async function cpuPerCall(call: () => Promise<Buffer>, calls: number): Promise<number> {
  const before = process.cpuUsage();
  let remaining = calls;
  const worker = async (): Promise<void> => {
    while (remaining-- > 0) if ((await call()).length === 0) throw new Error('empty response');
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

function serve(port: number): void {
  createHttpServer((request, response) => {
    const isCompressed = request.url === '/gzip';
    request.resume().on('end', () => {
      const body = isCompressed ? compressedBlock : block;
      const headers = { 'content-type': 'application/json', 'content-length': body.length };
      response.writeHead(200, isCompressed ? { ...headers, 'content-encoding': 'gzip' } : headers).end(body);
    });
  }).listen(port, '127.0.0.1');
}

/** A block with full transactions. Hashes and signatures are random, so that it compresses like a real block. */
function makeBlock(transactions: number): object {
  let count = 0;
  const word = (): string => `0x${createHash('sha256').update(String(count++)).digest('hex')}`;
  const address = (): string => word().slice(0, 42);
  return {
    number: '0x1406f40',
    hash: word(),
    parentHash: word(),
    stateRoot: word(),
    transactionsRoot: word(),
    receiptsRoot: word(),
    logsBloom: `0x${Array.from({ length: 8 }, () => word().slice(2)).join('')}`,
    transactions: Array.from({ length: transactions }, (_, index) => ({
      blockHash: '0x8d3e1f2a0c5b4d6978e0a1b2c3d4e5f60718293a4b5c6d7e8f9001122334455',
      blockNumber: '0x1406f40',
      transactionIndex: `0x${index.toString(16)}`,
      type: '0x2',
      chainId: '0x1',
      accessList: [],
      hash: word(),
      from: address(),
      to: address(),
      nonce: `0x${count.toString(16)}`,
      gas: '0x30d40',
      gasPrice: '0x3b9aca00',
      maxFeePerGas: '0x77359400',
      maxPriorityFeePerGas: '0x5f5e100',
      value: '0x0',
      input: `0xa9059cbb000000000000000000000000${address().slice(2)}${'0'.repeat(48)}${word().slice(2, 18)}`,
      v: '0x1',
      yParity: '0x1',
      r: word(),
      s: word(),
    })),
  };
}
