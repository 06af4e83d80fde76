import { getContractAddress, keccak256, parseTransaction, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { onTestFinished } from 'vitest';
import { Random } from '../../bench/random.ts';
import { MemoryNode } from '../../bench/simulation/memory-node.ts';
import { SimulatedGateway } from '../../bench/simulation/simulated-gateway.ts';
import { installClock } from '../../gateway/clock/clock.ts';
import { OwnedSteps } from '../../gateway/event-loop/owned-steps.ts';
import { encodeReceipt } from '../../gateway/verify/proofs/encode-receipt.ts';
import { EMPTY_LIST, EMPTY_ROOT, rootOf } from '../../gateway/verify/proofs/tree.ts';
import { endSimulation } from '../support/simulate-time.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { linkedWorkers } from '../workers/linked-workers.ts';
import { hashedBlock, hex, type HashedBlock } from './proofs/hashed-block.ts';

const CHAIN_ID = 777;
const FIRST = 1_000;
const HEAD = 1_001;
/** The number of the block with the transactions: the gateway follows it, so that results about it may be cached. */
const NUMBER = HEAD;
const account = privateKeyToAccount(`0x${'07'.repeat(32)}`);
const GAS = 21_000;
const roots = { sha3Uncles: EMPTY_LIST, withdrawalsRoot: EMPTY_ROOT } as Readonly<Record<string, Hex>>;
const noTransactions = { ...roots, transactionsRoot: EMPTY_ROOT, receiptsRoot: EMPTY_ROOT } as typeof roots;

export type Json = Readonly<Record<string, unknown>>;

/** What a node returns in place of a result. */
export type Lie = (result: never, params: readonly unknown[]) => unknown;

export type Call = readonly [method: string, ...params: readonly unknown[]];
export type RpcResponse = { readonly result?: unknown; readonly error?: Json };

export interface SimulatedNodes {
  /** Hashes of the transactions of one block: the first one sends a value, the second one creates a contract. */
  readonly hashes: readonly Hex[];
  readonly blockHash: Hex;
  /** Node 0 gets the calls. @param lie undefined: the truth */
  readonly lie: (node: number, method: string, lie: Lie | undefined) => void;
  readonly send: (method: string, ...params: readonly unknown[]) => Promise<RpcResponse>;
  /** The responses of all workers to the call, which they get one after the other. */
  readonly sendToWorkers: (method: string, ...params: readonly unknown[]) => Promise<readonly RpcResponse[]>;
  /** Sends a batch, as one body, or as one message of a WebSocket. */
  readonly sendAll: (calls: readonly Call[], over: 'http' | 'websocket') => Promise<RpcResponse[]>;
  /** Proof of the last response to a body; undefined: results are not proven. */
  readonly proofOf: () => string | undefined;
  readonly truth: (method: string, ...params: readonly unknown[]) => unknown;
  readonly advance: (ms: number) => Promise<void>;
  /** How many results of a method had this proof. */
  readonly proven: (method: string, proof: string) => Promise<number>;
  /** How many results of a node were disproved. */
  readonly disproved: (node: number) => Promise<number>;
}

/**
 * A gateway in front of nodes of one chain, in simulated time, until the test ends.
 * @param file more of the network file
 * @param given the chain; default: one of a few blocks
 * @param workers of the gateway
 */
export async function simulatedNodes(
  count: number,
  file: object,
  given?: ScriptedChain,
  workers = 1,
): Promise<SimulatedNodes> {
  const time = new SimulatedClock();
  installClock(time);
  onTestFinished(() => endSimulation(time));
  const chain = given ?? (await scriptedChain());
  const lies = Array.from({ length: count }, () => new Map<string, Lie | undefined>());
  const nodes = lies.map((ownLies, at) => {
    const respondTo = ({ id, method, params = [] }: { id: unknown; method: string; params?: readonly unknown[] }) => {
      const result = chain.resultOf(method, params);
      if (result === undefined)
        return { jsonrpc: '2.0', id, error: { code: -32601, message: 'the method does not exist' } };
      const lie = ownLies.get(method);
      return { jsonrpc: '2.0', id, result: lie === undefined ? result : lie(result as never, params) };
    };
    return new MemoryNode(at + 1, { respondTo }, new Random(at + 1));
  });
  const upstreams = nodes.map(({ port }, at) => ({
    name: `node-${at}`,
    url: `http://127.0.0.1:${port}`,
    batch: false,
  }));
  const network = {
    name: 'Simulated',
    chainId: CHAIN_ID,
    methods: ['eth'],
    failsafe: { hedgeAfterMs: 'off' },
    upstreams,
    ...file,
  };
  const links = workers === 1 ? [undefined] : (await linkedWorkers(workers)).links;
  const gateways = links.map(
    (link) => new SimulatedGateway({ options: { name: 'simulated' }, file: () => network } as never, nodes, link),
  );
  const [gateway] = gateways as [SimulatedGateway];
  const clients = gateways.map((one) => one.connect());
  const [client] = clients as [(typeof clients)[number]];
  const post = async (to: typeof client, method: string, params: readonly unknown[]): Promise<RpcResponse> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    return JSON.parse(await time.advanceUntil(to.post(body))) as RpcResponse;
  };
  const sampleOf = async (metric: string, ...labels: string[]): Promise<number> => {
    const lines = (await gateway.metrics()).split('\n').filter((line) => line.startsWith(`${metric}{`));
    const line = lines.find((one) => labels.every((label) => one.includes(label)));
    return Number(line?.split(' ').at(-1) ?? 0);
  };
  return {
    hashes: chain.hashes,
    blockHash: chain.blockHash,
    lie: (node, method, lie) => void lies[node]?.set(method, lie),
    send: (method, ...params) => post(client, method, params),
    sendToWorkers: async (method, ...params) => {
      const responses: RpcResponse[] = [];
      for (const one of clients) responses.push(await post(one, method, params));
      return responses;
    },
    sendAll: async (calls, over) => {
      const body = JSON.stringify(calls.map(([method, ...params], id) => ({ jsonrpc: '2.0', id, method, params })));
      const responded = new Promise<string>((resolve, reject) => {
        if (over === 'http') client.post(body).then(resolve, reject);
        else
          client.openSocket(resolve).then((socket) => {
            socket.send(body);
          }, reject);
      });
      const responses = JSON.parse(await time.advanceUntil(responded)) as (RpcResponse & { id: number })[];
      return calls.map((_, at) => responses.find(({ id }) => id === at) as RpcResponse);
    },
    proofOf: () => gateway.proof,
    truth: (method, ...params) => chain.resultOf(method, params),
    advance: (ms) => time.advance(ms),
    proven: (method, proof) => sampleOf('gatehouse_verified_results_total', `method="${method}"`, `proof="${proof}"`),
    disproved: (node) => sampleOf('gatehouse_audits_total', `upstream="node-${node}"`, 'outcome="differs"'),
  };
}

export interface ScriptedChain {
  readonly hashes: readonly Hex[];
  readonly blockHash: Hex;
  /** Result of a method; undefined: there is no such method. */
  readonly resultOf: (method: string, params: readonly unknown[]) => unknown;
}

/** Results of a chain with one block of transactions, and its own. @param receipts undefined: there is no method for them */
function resultsOf(
  head: unknown,
  transactions: readonly Json[],
  receipts: readonly Json[] | undefined,
  own: ScriptedChain['resultOf'],
): ScriptedChain['resultOf'] {
  return (method, params) => {
    const index = transactions.findIndex(({ hash }) => hash === params[0]);
    switch (method) {
      case 'eth_chainId':
        return hex(CHAIN_ID);
      case 'eth_blockNumber':
        return head;
      case 'eth_getTransactionByHash':
        return transactions[index] ?? null;
      case 'eth_getTransactionReceipt':
        return receipts && (receipts[index] ?? null);
      default:
        return own(method, params);
    }
  };
}

/** A chain whose newest block is a recorded one: its parents are unknown. @param receipts undefined: none are known */
export function recordedChain(block: Json, receipts?: readonly Json[]): ScriptedChain {
  const transactions = block['transactions'] as readonly Json[];
  const hashes = transactions.map(({ hash }) => hash as Hex);
  const resultOf = resultsOf(block['number'], transactions, receipts, (method, [first, second]) => {
    switch (method) {
      case 'eth_getBlockByNumber':
      case 'eth_getBlockByHash':
        if (![block['number'], block['hash'], 'latest', 'pending'].includes(first)) return null;
        return second === true ? block : { ...block, transactions: hashes };
      case 'eth_getBlockTransactionCountByHash':
        return hex(hashes.length);
      case 'eth_getBlockReceipts':
        return receipts;
      case 'eth_getLogs':
        return receipts?.flatMap(({ logs }) => logs);
      default:
        return undefined;
    }
  });
  return { hashes, blockHash: block['hash'] as Hex, resultOf };
}

/** A chain of a few blocks, of which one has transactions, each with one receipt and no logs. */
async function scriptedChain(): Promise<ScriptedChain> {
  const fees = {
    type: 'eip1559',
    chainId: CHAIN_ID,
    maxPriorityFeePerGas: 1n,
    maxFeePerGas: 100n,
    gas: 100_000n,
  } as const;
  const signed = await Promise.all([
    account.signTransaction({ ...fees, nonce: 0, to: `0x${'ab'.repeat(20)}`, value: 1n }),
    account.signTransaction({ ...fees, nonce: 1, data: '0x60' }),
  ]);
  const hashes = signed.map((bytes) => keccak256(bytes));
  const base = signed.map((_, index) => ({
    ...{ type: '0x2', status: '0x1', cumulativeGasUsed: hex(GAS * (index + 1)), gasUsed: hex(GAS), logs: [] },
    ...{ logsBloom: `0x${'00'.repeat(256)}`, effectiveGasPrice: '0x8' },
  }));
  const steps = new OwnedSteps('scripted-chain');
  const own = {
    ...roots,
    transactionsRoot: await rootOf(
      signed.map((bytes) => Buffer.from(bytes.slice(2), 'hex')),
      steps,
    ),
    receiptsRoot: await rootOf(base.map(encodeReceipt), steps),
  } as typeof roots;
  const blocks: HashedBlock[] = [];
  for (let number = FIRST; number <= HEAD; number++) {
    const parent = blocks.at(-1)?.hash ?? `0x${'11'.repeat(32)}`;
    blocks.push(hashedBlock(number, parent, 0, number === NUMBER ? own : noTransactions));
  }
  const { hash: blockHash, number: blockNumber } = blocks[NUMBER - FIRST] as HashedBlock;
  const from = account.address.toLowerCase();
  const placeOf = (index: number): Json => ({ blockHash, blockNumber, transactionIndex: hex(index) });
  const transactions = signed.map((bytes, index) => {
    const { nonce = 0, to = null, value = 0n, data = '0x', r, s, yParity = 0 } = parseTransaction(bytes);
    return {
      ...{ type: '0x2', chainId: hex(CHAIN_ID), nonce: hex(nonce), maxPriorityFeePerGas: '0x1', maxFeePerGas: '0x64' },
      ...{ gasPrice: '0x8', gas: '0x186a0', to, value: hex(Number(value)), input: data, accessList: [] },
      ...{ yParity: hex(yParity), v: hex(yParity), r: quantityOf(r), s: quantityOf(s) },
      ...{ hash: hashes[index], from, ...placeOf(index) },
    };
  });
  const receipts = base.map((receipt, index) => {
    const { to } = transactions[index] as Json;
    const contractAddress = to === null ? getContractAddress({ from: account.address, nonce: BigInt(index) }) : null;
    return { ...receipt, from, to, contractAddress, transactionHash: hashes[index], ...placeOf(index) };
  });
  const find = (named: unknown): HashedBlock | undefined => {
    if (named === 'latest' || named === 'pending') return blocks.at(-1);
    if (named === 'safe' || named === 'finalized') return blocks[0];
    return blocks.find(({ number, hash }) => number === named || hash === named);
  };
  const resultOf = resultsOf(hex(HEAD), transactions, receipts, (method, [first, second]) => {
    switch (method) {
      case 'eth_getBlockByNumber':
      case 'eth_getBlockByHash': {
        const block = find(first);
        if (block?.hash !== blockHash) return block ?? null;
        return { ...block, transactions: second === true ? transactions : hashes };
      }
      case 'eth_getBlockReceipts':
        return find(first)?.hash === blockHash ? receipts : [];
      case 'eth_getUncleCountByBlockHash':
        return '0x0';
      default:
        return undefined;
    }
  });
  return { hashes, blockHash, resultOf };
}

function quantityOf(text: string | undefined): string {
  return `0x${BigInt(text ?? 0).toString(16)}`;
}
