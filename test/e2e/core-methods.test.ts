import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { strictAjv } from '../../gateway/spec/strict-ajv.ts';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

type JsonObject = Record<string, unknown>;

const schemas = JSON.parse(readFileSync(join(packageRoot, 'schemas/generated/results.json'), 'utf8')) as JsonObject;
const unknown = `0x${'ab'.repeat(32)}`;

let anvil: Anvil;
let gateway: TestGateway;
/** Number of the block with three transactions. */
let number: string;

beforeAll(async () => {
  anvil = await startAnvil();
  gateway = await startGateway({ local: network(1337, [anvil.url]) });
  number = ((await result('eth_getBlockByHash', [anvil.chain.blockHash, false])) as { number: string }).number;
});
afterAll(async () => {
  await gateway.stop();
  await anvil.stop();
});

async function result(method: string, params: unknown[]): Promise<unknown> {
  const { result: given, error } = await gateway.call('local', method, params);
  if (error !== undefined) throw new Error(`${method} ${JSON.stringify(params)}: ${JSON.stringify(error)}`);
  return given;
}

/** Calls that a real node can serve, and a part of the expected result. */
function calls(): [method: string, params: unknown[], validity: unknown][] {
  const { caller, other, counter, blockHash, setTransaction, transferTransaction } = anvil.chain;
  const call = { from: caller, to: counter.address, data: counter.calls.number };
  const stored = `0x${counter.value.toString(16).padStart(64, '0')}`;
  const quantity = expect.stringMatching(/^0x[0-9a-f]+$/) as string;
  const log = expect.objectContaining({ transactionHash: setTransaction, removed: false }) as unknown;
  return [
    ['eth_blockNumber', [], number],
    ['eth_getBlockByNumber', [number, false], { hash: blockHash, nonce: '0x0000000000000000' }],
    ['eth_getBlockByNumber', [number, true], { hash: blockHash, transactions: { length: 3 } }],
    ['eth_getBlockByNumber', ['0x0', true], { number: '0x0', transactions: [] }],
    ['eth_getBlockByNumber', ['latest', false], { hash: blockHash }],
    ['eth_getBlockByNumber', ['pending', true], { parentHash: blockHash }],
    ['eth_getBalance', [other, 'latest'], quantity],
    ['eth_getBalance', [other, { blockHash }], quantity],
    ['eth_getCode', [counter.address, 'latest'], expect.stringMatching(/^0x60/)],
    ['eth_getCode', [caller, number], '0x'],
    ['eth_getStorageAt', [counter.address, '0x0', { blockNumber: number }], stored],
    ['eth_getTransactionCount', [caller, 'pending'], '0x4'],
    ['eth_call', [call, 'latest'], stored],
    ['eth_call', [call], stored],
    ['eth_call', [call, blockHash], stored],
    ['eth_call', [{ data: '0x' }, 'latest'], '0x'],
    ['eth_call', [call, 'latest', { [counter.address]: { code: '0x5f5ff3' } }], '0x'],
    [
      'eth_call',
      [{ data: '0x425f5260205ff3' }, 'latest', {}, { time: '0x70000000' }],
      `0x${'70000000'.padStart(64, '0')}`,
    ],
    ['eth_createAccessList', [call, 'latest'], { accessList: [{ address: counter.address }], gasUsed: quantity }],
    [
      'eth_simulateV1',
      [{ blockStateCalls: [{ calls: [call] }], traceTransfers: true }, 'latest'],
      [{ calls: [{ status: '0x1', gasUsed: quantity }] }],
    ],
    ['eth_estimateGas', [call], quantity],
    ['eth_gasPrice', [], quantity],
    ['eth_maxPriorityFeePerGas', [], quantity],
    ['eth_blobBaseFee', [], '0x1'],
    ['eth_feeHistory', ['0x2', 'latest', [20.5, 95]], { reward: { length: 2 }, oldestBlock: quantity }],
    ['eth_feeHistory', [2, number], { baseFeePerGas: { length: 3 } }],
    ['eth_getLogs', [{ blockHash }], [log]],
    ['eth_getLogs', [{ fromBlock: 'earliest', toBlock: number, address: counter.address, topics: [null, []] }], [log]],
    ['eth_getLogs', [{ address: [caller, other] }], []],
    ['eth_getBlockReceipts', [number], { length: 3 }],
    ['eth_getBlockReceipts', [{ blockHash }], { length: 3 }],
    ['eth_getBlockReceipts', [blockHash], { length: 3 }],
    ['eth_getTransactionByHash', [setTransaction], { blockHash }],
    ['eth_getTransactionReceipt', [setTransaction], { blockHash }],
    ['eth_getBlockByHash', [blockHash, true], { number }],
    ['eth_getTransactionByBlockHashAndIndex', [blockHash, '0x0'], { hash: transferTransaction }],
    ['eth_getTransactionByBlockNumberAndIndex', [number, '0x0'], { hash: transferTransaction }],
    ['eth_getTransactionByBlockNumberAndIndex', ['latest', '0x00'], { hash: transferTransaction }],
    ['eth_getBlockTransactionCountByHash', [blockHash], '0x3'],
    ['eth_getBlockTransactionCountByNumber', [number], '0x3'],
    ['eth_getUncleCountByBlockHash', [blockHash], '0x0'],
    ['eth_getUncleCountByBlockNumber', ['latest'], '0x0'],
    ['eth_syncing', [], false],
    ['eth_getProof', [counter.address, [stored], 'latest'], { address: counter.address, storageProof: { length: 1 } }],
  ];
}

describe('on a real node', () => {
  it('the result of every method matches its schema', async () => {
    const ajv = strictAjv();
    for (const [method, params, validity] of calls()) {
      const given = await result(method, params);
      const where = `${method} ${JSON.stringify(params)}`;
      const fits = ajv.compile(schemas[method] as object);
      expect.soft(fits(given), `${where}: ${ajv.errorsText(fits.errors)}`).toBe(true);
      if (typeof validity === 'object') expect.soft(given, where).toMatchObject(validity as object);
      else expect.soft(given, where).toBe(validity);
    }
  });

  it('every forwarded method is tested here, except for the one that sends transactions', () => {
    const called = new Set(calls().map(([method]) => method));
    const forwarded = methods.filter(
      ({ namespace, handledBy: response }) => namespace === 'eth' && response === undefined,
    );
    expect(forwarded.map(({ name }) => name).filter((name) => !called.has(name))).toEqual([
      ...['eth_getUncleByBlockHashAndIndex', 'eth_sendRawTransaction', 'eth_getUncleByBlockNumberAndIndex'],
    ]);
  });

  it.each([
    ['eth_getBlockByNumber', ['0xffffff', false]],
    ['eth_getBlockReceipts', ['0xffffff']],
    ['eth_getBlockReceipts', [unknown]],
    ['eth_getTransactionByBlockHashAndIndex', [unknown, '0x0']],
    ['eth_getTransactionByBlockNumberAndIndex', ['0xffffff', '0x0']],
    ['eth_getTransactionByBlockNumberAndIndex', ['latest', '0x9']],
    ['eth_getBlockTransactionCountByHash', [unknown]],
    ['eth_getUncleByBlockNumberAndIndex', ['latest', '0x0']],
    ['eth_getUncleCountByBlockHash', [unknown]],
    ['eth_getUncleCountByBlockNumber', ['0xffffff']],
  ])('%s %j is null', async (method, params) => {
    expect(await result(method, params)).toBeNull();
  });

  it.each(['eth_call', 'eth_createAccessList', 'eth_estimateGas'])('a revert of %s is code 3', async (method) => {
    const { caller, gate } = anvil.chain;
    const { error } = await gateway.call('local', method, [{ from: caller, to: gate.address, data: gate.calls.open }]);
    expect(error).toMatchObject({ code: 3, message: 'execution reverted: the gate is closed' });
    expect(error?.data).toMatch(/^0x08c379a0/);
  });

  it.each([
    'eth_sendTransaction',
    'eth_sign',
    'eth_signTransaction',
    'eth_fillTransaction',
    'rpc.describe',
    'debug_traceBlock',
  ])('%s is not served', async (method) => {
    expect((await gateway.call('local', method)).error).toEqual({
      code: -32601,
      message: `The method ${method} does not exist/is not available`,
    });
  });
});
