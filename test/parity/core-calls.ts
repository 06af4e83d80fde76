import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../gateway/config/package.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import type { ChainFacts } from './chain-facts.ts';
import { fetchResult, type RpcEndpoint } from './rpc-endpoint.ts';

/** Parameters, or a function that gets them from the endpoint. */
type Params = readonly unknown[] | ((endpoint: RpcEndpoint) => Promise<readonly unknown[]>);

export interface CoreCall {
  readonly method: string;
  readonly params: Params;
}

interface OpenRpcMethod {
  readonly name: string;
  readonly examples?: readonly { readonly params: readonly { readonly value: unknown }[] }[];
}

const UNKNOWN_HASH = `0x${'ab'.repeat(32)}`;
const FUTURE = '0xfffffff';
const UNUSED_ADDRESS = `0x${'99'.repeat(20)}`;

const OTHER_CHAINS = ['zks', 'linea'];

/** The methods of every network: those with a schema except zkSync's, Linea's and `rpc.discover`. */
export const coreMethods: readonly string[] = methods
  .filter(({ namespace, handledBy }) => !OTHER_CHAINS.includes(namespace) && handledBy !== 'document')
  .map(({ name }) => name);

/** Calls of every core method. A method without a row here is called with the example of its schema. */
export function coreCalls(facts: ChainFacts): CoreCall[] {
  const rows = rowsOf(facts);
  return coreMethods.flatMap((method) => (rows[method] ?? examplesOf(method)).map((params) => ({ method, params })));
}

const word = (digits: string): string => `0x${digits.padStart(64, '0')}`;

function examplesOf(name: string): Params[] {
  const document = JSON.parse(readFileSync(join(packageRoot, 'schemas/generated/openrpc.json'), 'utf8')) as {
    readonly methods: readonly OpenRpcMethod[];
  };
  const examples = document.methods.find((method) => method.name === name)?.examples ?? [];
  if (examples.length === 0) throw new Error(`${name} has neither a row in core-calls.ts nor an example in its schema`);
  return examples.map(({ params }) => params.map(({ value }) => value));
}

function rowsOf({
  blocks,
  addresses,
  executions,
  funded,
  rejectedTransactions,
}: ChainFacts): Partial<Record<string, Params[]>> {
  const hashes = [...blocks.map(({ hash }) => hash), UNKNOWN_HASH];
  const numbers = [...blocks.map(({ number }) => number), 'earliest', 'latest', FUTURE];
  const transactions = [...blocks.flatMap((block) => block.transactions), UNKNOWN_HASH];
  const last = blocks.at(-1) ?? { number: 'latest', hash: UNKNOWN_HASH };
  const middle = blocks[blocks.length >> 1] ?? last;
  const states = [last.number, 'latest', { blockHash: middle.hash }, { blockNumber: last.number }, FUTURE];
  const someAddresses = [...addresses.slice(0, 6), UNUSED_ADDRESS];
  const atStates = (...params: unknown[]): Params[] => [
    ...states.map((state) => [...params, state]),
    [...params, { blockHash: UNKNOWN_HASH }],
  ];
  const logFilters: object[] = [
    {},
    { fromBlock: '0x0', toBlock: last.number },
    { fromBlock: 'earliest', toBlock: 'latest', address: addresses.slice(0, 3) },
    { fromBlock: '0x0', topics: [null, []] },
    { fromBlock: '0x0', toBlock: last.number, topics: [[UNKNOWN_HASH]] },
    { address: UNUSED_ADDRESS },
    ...hashes.map((blockHash) => ({ blockHash })),
  ];
  const filterOf =
    (filter: object): Params =>
    async (endpoint) => [await fetchResult<string>(endpoint, 'eth_newFilter', filter)];
  const everyLog = filterOf({ fromBlock: '0x0', toBlock: last.number });

  return {
    eth_getStorageAt: someAddresses.flatMap((address) => ['0x0', '0x1'].flatMap((slot) => atStates(address, slot))),
    eth_getBlockByHash: hashes.flatMap((hash) => [
      [hash, true],
      [hash, false],
    ]),
    eth_getUncleByBlockHashAndIndex: hashes.map((hash) => [hash, '0x0']),
    eth_getTransactionReceipt: transactions.map((hash) => [hash]),
    eth_estimateGas: executions.flatMap((call) => [[call], [call, last.number], [call, 'latest']]),
    eth_getTransactionByHash: transactions.map((hash) => [hash]),
    eth_blockNumber: [[]],
    eth_getBlockByNumber: [...numbers, 'pending', 'safe', 'finalized'].flatMap((number) => [
      [number, true],
      [number, false],
    ]),
    eth_getBalance: someAddresses.flatMap((address) => atStates(address)),
    eth_getCode: someAddresses.flatMap((address) => atStates(address)),
    eth_getTransactionCount: [...someAddresses.flatMap((address) => atStates(address)), [funded, 'pending']],
    eth_call: executions.flatMap((call) => [[call], ...atStates(call)]),
    eth_createAccessList: executions.flatMap((call) => [
      [call, last.number],
      [call, 'latest'],
    ]),
    eth_simulateV1: [
      [{ blockStateCalls: [{ calls: executions }] }, last.number],
      [
        {
          blockStateCalls: [{ blockOverrides: { time: '0x7fffffff' }, calls: executions.slice(0, 1) }],
          traceTransfers: true,
          returnFullTransactions: true,
        },
        last.number,
      ],
    ],
    eth_feeHistory: [
      ['0x4', last.number, [10, 50.5, 90]],
      ['0x4', 'latest', []],
      ['0x2', middle.number],
      ['0x0', 'latest', []],
      [2, last.number, [25]],
      ['0x4', last.number, [90, 10]],
    ],
    eth_sendRawTransaction: [...rejectedTransactions, '0x1234', '0x'].map((raw) => [raw]),
    eth_getLogs: logFilters.map((filter) => [filter]),
    eth_getBlockReceipts: [...numbers, ...hashes, { blockHash: last.hash }].map((block) => [block]),
    eth_getTransactionByBlockHashAndIndex: hashes.flatMap((hash) => ['0x0', '0x1', '0x99'].map((at) => [hash, at])),
    eth_getTransactionByBlockNumberAndIndex: numbers.flatMap((number) => ['0x0', '0x1'].map((at) => [number, at])),
    eth_getBlockTransactionCountByHash: hashes.map((hash) => [hash]),
    eth_getBlockTransactionCountByNumber: numbers.map((number) => [number]),
    eth_getUncleByBlockNumberAndIndex: numbers.map((number) => [number, '0x0']),
    eth_getUncleCountByBlockHash: hashes.map((hash) => [hash]),
    eth_getUncleCountByBlockNumber: numbers.map((number) => [number]),
    eth_getProof: someAddresses.flatMap((address) => [
      [address, [`0x${'0'.repeat(64)}`, `0x${'1'.padStart(64, '0')}`], last.number],
      [address, ['0x0'], last.number],
      [address, [], 'latest'],
      [address, ['0x0'], FUTURE],
    ]),
    eth_sendRawTransactionSync: [...rejectedTransactions, '0x1234'].map((raw) => [raw]),
    eth_fillTransaction: executions.map((call) => [call]),
    eth_getHeaderByNumber: [...numbers, 'safe', 'finalized'].map((number) => [number]),
    eth_getHeaderByHash: hashes.map((hash) => [hash]),
    eth_getRawTransactionByHash: transactions.map((hash) => [hash]),
    eth_getRawTransactionByBlockHashAndIndex: hashes.flatMap((hash) => ['0x0', '0x99'].map((at) => [hash, at])),
    eth_getRawTransactionByBlockNumberAndIndex: numbers.flatMap((number) => ['0x0', '0x99'].map((at) => [number, at])),
    eth_getAccountInfo: someAddresses.flatMap((address) => atStates(address)),
    eth_getStorageValues: [
      ...someAddresses.flatMap((address) => atStates({ [address]: [word('0'), word('1')] })),
      [{ [UNUSED_ADDRESS]: [word('0')] }],
      [{}, 'latest'],
    ],
    eth_subscribe: [['newHeads'], ['logs', {}], ['newPendingTransactions'], ['nonsense']],
    eth_unsubscribe: [
      async (endpoint) =>
        endpoint.isSocket ? [await fetchResult<string>(endpoint, 'eth_subscribe', 'newHeads')] : ['0x1'],
    ],
    eth_newFilter: [[{ fromBlock: '0x0' }]],
    eth_getFilterChanges: [everyLog],
    eth_getFilterLogs: [
      everyLog,
      filterOf({ address: addresses[0], fromBlock: '0x0' }),
      filterOf({ address: UNUSED_ADDRESS }),
    ],
    eth_uninstallFilter: [everyLog, ['0xdeadbeef']],
  };
}
