import { onTestFinished } from 'vitest';
import { rpcError, startFakeNode, type FakeNode, type RpcResponse } from '../support/fake-node.ts';

export const CHAIN_ID = 7;

export interface LogFilter {
  readonly fromBlock?: string;
  readonly toBlock?: string;
  readonly address?: string | readonly string[];
}

/** Limits of one node, as nodes and providers have them. */
export interface NodeLimits {
  readonly maxBlocks?: number;
  readonly maxResults?: number;
  readonly maxBytes?: number;
  readonly maxAddresses?: number;
  /** Older blocks are not available. */
  readonly prunedBelow?: number;
}

export const contracts = ['aa', 'bb', 'cc', 'dd'].map((byte) => `0x${byte.repeat(20)}`);

/** A chain with this many logs in each block, of the contracts in turn. Any number of nodes respond from it. */
export class LogChain {
  height: number;
  finalized: number;
  readonly #logsPerBlock: (block: number) => number;
  /** Blocks from this one on were replaced. */
  #forkedAt = Infinity;
  #fork = 0;

  /** @param height number of blocks, from block 0 */
  constructor(height: number, logsPerBlock: (block: number) => number, finalized = height - 100) {
    this.height = height;
    this.finalized = finalized;
    this.#logsPerBlock = logsPerBlock;
  }

  /** Replaces all blocks from this one on. */
  reorg(from: number): void {
    this.#forkedAt = from;
    this.#fork++;
  }

  hashOf(block: number): string {
    const fork = block >= this.#forkedAt ? this.#fork : 0;
    return `0x${fork.toString(16).padStart(8, 'f')}${block.toString(16).padStart(56, '0')}`;
  }

  count(from: number, to: number): number {
    let count = 0;
    for (let block = from; block <= to; block++) count += this.#logsPerBlock(block);
    return count;
  }

  logs(from: number, to: number, addresses?: readonly string[]): object[] {
    const logs: object[] = [];
    for (let block = from; block <= Math.min(to, this.height - 1); block++) {
      const blockHash = this.hashOf(block);
      for (let index = 0; index < this.#logsPerBlock(block); index++) {
        const address = contracts[index % contracts.length] ?? '';
        if (addresses?.includes(address) === false) continue;
        const transactionHash = `0x${index.toString(16).padStart(8, '0')}${blockHash.slice(10)}`;
        const [blockNumber, logIndex] = [hex(block), hex(index)];
        const log = { address, topics: [], data: '0x', blockNumber, transactionHash, transactionIndex: '0x0' };
        logs.push({ ...log, blockHash, logIndex, removed: false });
      }
    }
    return logs;
  }

  numberOf(block: string): number {
    if (block === 'earliest') return 0;
    if (block === 'finalized' || block === 'safe') return this.finalized;
    return block.startsWith('0x') ? Number(block) : this.height - 1;
  }

  block(tag: string): object | null {
    const number = this.numberOf(tag);
    if (number >= this.height) return null;
    const [hash, parentHash] = [this.hashOf(number), this.hashOf(number - 1)];
    return { ...header, number: hex(number), hash, parentHash, timestamp: hex(1_700_000_000 + 12 * number) };
  }
}

/** Starts a node with this chain until the test ends. */
export async function startLogNode(chain: LogChain, limits: NodeLimits = {}): Promise<FakeNode> {
  const responses: Record<string, RpcResponse> = {
    eth_blockNumber: () => hex(chain.height - 1),
    eth_getBlockByNumber: ([tag]: [string]) => chain.block(tag),
    eth_getLogs: ([filter]: [LogFilter]) => listOf(chain, limits, filter),
    trace_filter: ([filter]: [LogFilter]) => listOf(chain, limits, filter),
  };
  const node = await startFakeNode({ chainId: CHAIN_ID, responses });
  onTestFinished(() => node.close());
  return node;
}

export function listOf(chain: LogChain, limits: NodeLimits, filter: LogFilter): RpcResponse {
  const { maxBlocks = Infinity, maxResults = Infinity, maxBytes = Infinity, maxAddresses = Infinity } = limits;
  const { fromBlock = 'latest', toBlock = 'latest', address } = filter;
  const [from, to] = [chain.numberOf(fromBlock), Math.min(chain.numberOf(toBlock), chain.height - 1)];
  const addresses = address === undefined ? undefined : [address].flat().map((one) => one.toLowerCase());
  if ((addresses?.length ?? 0) > maxAddresses)
    return rpcError(-32602, `specify less number of addresses: at most ${maxAddresses}`);
  if (to - from >= maxBlocks) return rpcError(-32602, `exceed maximum block range: ${maxBlocks}`);
  if (from < (limits.prunedBelow ?? 0)) return rpcError(4444, 'pruned history unavailable');
  const tooMany = rpcError(-32005, `query returned more than ${maxResults} results`);
  if (addresses === undefined && chain.count(from, to) > maxResults) return tooMany;
  if (addresses === undefined && chain.count(from, to) * MIN_LOG_BYTES > maxBytes) return tooLong;
  const logs = chain.logs(from, to, addresses);
  if (logs.length > maxResults) return tooMany;
  return maxBytes < Infinity && JSON.stringify(logs).length > maxBytes ? tooLong : logs;
}

const MIN_LOG_BYTES = 300;
const tooLong = rpcError(-32000, 'Log response size exceeded.');

const zero = (bytes: number): string => `0x${'00'.repeat(bytes)}`;
const header = {
  ...{ nonce: zero(8), sha3Uncles: zero(32), transactionsRoot: zero(32), stateRoot: zero(32), receiptsRoot: zero(32) },
  ...{ miner: zero(20), difficulty: '0x0', extraData: '0x', gasLimit: '0x1c9c380', gasUsed: '0x5208' },
  ...{ mixHash: zero(32), baseFeePerGas: '0x7', logsBloom: zero(256), size: '0x1', totalDifficulty: '0x0' },
  ...{ transactions: [], uncles: [] },
};

export function hex(number: number): string {
  return `0x${number.toString(16)}`;
}
