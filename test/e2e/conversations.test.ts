import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../gateway/config/package.ts';
import { namespaceOf } from '../../gateway/network-files/namespace-of.ts';
import { readSources } from '../../schemas/read-sources.ts';
import { responseTo, gatewayFor, readConversation, type Exchange } from './conversation.ts';

interface Named extends Exchange {
  readonly name: string;
}
type Result = Readonly<Record<string, unknown>>;
interface RpcResponse {
  readonly jsonrpc: string;
  readonly id: unknown;
  readonly result?: Result;
  readonly error?: unknown;
}

function read(folder: string, file: string): Named[] {
  const exchanges = readConversation(readFileSync(join(folder, file), 'utf8'));
  return exchanges.map((exchange) => ({ name: file.replace('.io', ''), ...exchange }));
}

describe('the conversations in test/cases match exactly', () => {
  const folder = join(packageRoot, 'test/cases');
  const files = readdirSync(folder).sort();

  it.each(files)('%s', async (file) => {
    const exchanges = read(folder, file);
    const gateway = await gatewayFor(exchanges, 1337);
    for (const exchange of exchanges) {
      expect.soft(await responseTo(gateway, exchange), exchange.title).toBe(exchange.response);
    }
  });

  it('that are named after a method name one of the schemas', () => {
    const known = new Set(readSources(join(packageRoot, 'schemas')).methods.map(({ name }) => name));
    const named = files.map((file) => file.replace('.io', '')).filter((name) => name.includes('_'));
    const unknown = named.filter((name) => !known.has(name));
    expect(unknown.map((name) => `${name}: add it to schemas/methods/${namespaceOf(name)}.yaml`)).toEqual([]);
  });

  it('cover each method of the specification', () => {
    const tables = parse(readFileSync(join(packageRoot, 'test/spec/field-tables.yaml'), 'utf8')) as { methods: object };
    const missing = Object.keys(tables.methods).filter((method) => !files.includes(`${method}.io`));
    expect(missing.map((method) => `${method}: add test/cases/${method}.io`)).toEqual([]);
  });
});

interface Deviation {
  readonly reason: string;
  readonly ours: (theirs: RpcResponse) => RpcResponse;
}

/** Responses that differ from the reference chain's: the reason, and the response of the gateway. */
const deviations: Readonly<Record<string, Deviation>> = {
  'eth_getStorageAt/get-storage-default-block': {
    reason: 'the block parameter of eth_getStorageAt is required by our specification',
    ours: (theirs) => invalidParams(theirs, 'block: expected block number or tag'),
  },
  'eth_getStorageAt/get-storage-invalid-key': {
    reason: 'our own text under the same code',
    ours: (theirs) => invalidParams(theirs, 'position: expected storage position of 1 to 64 hexadecimal digits'),
  },
  'eth_getStorageAt/get-storage-invalid-key-too-large': {
    reason: 'our own text under the same code',
    ours: (theirs) => invalidParams(theirs, 'position: expected storage position of 1 to 64 hexadecimal digits'),
  },
  'eth_getBlockByHash/get-block-by-hash': completedBlock(),
  'eth_getBlockByNumber/get-genesis': completedBlock(),
  'eth_getBlockByNumber/get-block-london-fork': completedBlock(),
  'eth_getBlockByNumber/get-block-merge-fork': completedBlock(),
  'eth_getBlockByNumber/get-block-shanghai-fork': completedBlock(),
  'eth_getBlockByNumber/get-block-cancun-fork': completedBlock(),
  'eth_getBlockByNumber/get-block-prague-fork': completedBlock(),
  'eth_getBlockByNumber/get-latest': completedBlock(),
  'eth_getBlockByNumber/get-safe': completedBlock(),
  'eth_getBlockByNumber/get-finalized': completedBlock(),
  'eth_getLogs/filter-error-invalid-blockHash-and-range': {
    reason: 'our own text under the same code',
    ours: (theirs) =>
      invalidParams(theirs, 'filter: expected log filter with either blockHash or fromBlock and toBlock'),
  },
};

const theirFolder = join(packageRoot, '../shared/data/execution-apis');
const isThere = existsSync(theirFolder);
if (!isThere) {
  console.warn(`${theirFolder} is not there: the conversations of the official test suite are not replayed`);
}
describe.runIf(isThere)('the conversations of the official Ethereum JSON-RPC test suite', () => {
  const folders = isThere ? readdirSync(theirFolder).filter((name) => name.includes('_')) : [];
  const files = folders.flatMap((method) => readdirSync(join(theirFolder, method)).map((file) => join(method, file)));
  const exchanges = files.flatMap((file) => read(theirFolder, file));

  it('match, except for the listed deviations', { timeout: 20_000 }, async () => {
    const gateway = await gatewayFor(exchanges, Number(0xc72dd9d5e883en));
    for (const exchange of exchanges.filter(({ name }) => !(name in deviations))) {
      expect.soft(await responseTo(gateway, exchange), exchange.name).toBe(exchange.response);
    }
    for (const exchange of exchanges) {
      const deviation = deviations[exchange.name];
      if (deviation === undefined) continue;
      const ours = JSON.parse(await responseTo(gateway, exchange)) as RpcResponse;
      const theirs = JSON.parse(exchange.response) as RpcResponse;
      expect.soft(ours, exchange.name).toEqual(deviation.ours(theirs));
      expect.soft(ours, `${exchange.name} does not deviate any more`).not.toEqual(theirs);
    }
  });

  it('are complete', () => {
    expect(exchanges.length).toBeGreaterThanOrEqual(90);
    const names = new Set(exchanges.map(({ name }) => name));
    expect(Object.keys(deviations).filter((name) => !names.has(name))).toEqual([]);
  });
});

function invalidParams({ jsonrpc, id }: RpcResponse, expectation: string): RpcResponse {
  return { jsonrpc, id, error: { code: -32_602, message: `invalid params: ${expectation}` } };
}

function completedBlock(): Deviation {
  return {
    reason: 'totalDifficulty, which the node leaves out since the merge, is null',
    ours: ({ result = {}, ...theirs }) => ({ ...theirs, result: { ...result, totalDifficulty: null } }),
  };
}
