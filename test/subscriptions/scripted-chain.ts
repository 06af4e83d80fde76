import { createHash } from 'node:crypto';
import { hashToBits } from '../../gateway/chain/logs/logs-bloom.ts';
import { rpcError, type RpcResponse } from '../support/fake-node.ts';

export interface ScriptedLog {
  readonly address: string;
  readonly topics: readonly string[];
}

export interface Block {
  readonly header: Readonly<Record<string, string>> & { readonly number: string; readonly hash: string };
  readonly logs: readonly Readonly<Record<string, unknown>>[];
}

/** A chain whose blocks a test adds and removes. Any number of fake nodes can respond from it. */
export class ScriptedChain {
  /** Blocks from block 0. */
  canonical: Block[] = [];
  /** Members of the next headers, in place of the usual ones. */
  fields: Readonly<Record<string, string>> = {};
  readonly #byHash = new Map<string, Block>();
  readonly #listeners: ((block: Block) => void)[] = [];
  #blockCount = 0;

  constructor(height = 3) {
    for (let number = 0; number < height; number++) this.mine();
  }

  get head(): Block {
    return this.canonical.at(-1) as Block;
  }

  /** Adds a block with these logs. */
  mine(logs: readonly ScriptedLog[] = []): Block {
    const number = `0x${this.canonical.length.toString(16)}`;
    const hash = hashOf(`block ${++this.#blockCount}`);
    const parentHash = this.canonical.at(-1)?.header.hash ?? hashOf('nothing');
    const header = { ...fields, ...this.fields, number, hash, parentHash, logsBloom: bloomOf(logs), timestamp: number };
    const block = { header, logs: logs.map((log, index) => completeLog(log, index, number, hash)) };
    this.canonical.push(block);
    this.#byHash.set(hash, block);
    for (const listener of this.#listeners) listener(block);
    return block;
  }

  /** Calls the listener for each new block. */
  onBlock(listener: (block: Block) => void): void {
    this.#listeners.push(listener);
  }

  /** Removes the newest blocks. As at real nodes, they remain available by hash. */
  removeBlocks(count: number): Block[] {
    return this.canonical.splice(this.canonical.length - count);
  }

  /** The responses of a node with this chain. @param lag number of blocks that it is behind */
  responses(lag: () => number = () => 0): Record<string, RpcResponse> {
    const view = (): Block[] => this.canonical.slice(0, this.canonical.length - lag());
    return {
      eth_blockNumber: () => view().at(-1)?.header.number,
      eth_getBlockByNumber: ([number]: [string]) => {
        const blocks = view();
        return completeBlock(number.startsWith('0x') ? blocks[Number(number)] : blocks.at(-1));
      },
      eth_getBlockByHash: ([hash]: [string]) => completeBlock(this.#byHash.get(hash)),
      eth_getLogs: ([{ blockHash, fromBlock, toBlock }]: [Partial<Record<string, string>>]) => {
        if (blockHash !== undefined) return this.#byHash.get(blockHash)?.logs ?? rpcError(-32000, 'unknown block');
        const blocks = view();
        const position = (block = 'latest'): number => (block.startsWith('0x') ? Number(block) : blocks.length - 1);
        return blocks.slice(position(fromBlock), position(toBlock) + 1).flatMap(({ logs }) => logs);
      },
    };
  }
}

const zero = (bytes: number): string => `0x${'00'.repeat(bytes)}`;

const fields = {
  ...{ nonce: zero(8), sha3Uncles: zero(32), transactionsRoot: zero(32), stateRoot: zero(32), receiptsRoot: zero(32) },
  ...{ miner: zero(20), difficulty: '0x0', extraData: '0x', gasLimit: '0x1c9c380', gasUsed: '0x5208' },
  ...{ mixHash: zero(32), baseFeePerGas: '0x7' },
};

/** Adds the block members that newHeads notifications omit. */
function completeBlock(block: Block | undefined): unknown {
  return block && { ...block.header, size: '0x1', totalDifficulty: '0x0', transactions: [], uncles: [] };
}

function completeLog({ address, topics }: ScriptedLog, index: number, blockNumber: string, blockHash: string) {
  return {
    ...{ address, topics, data: '0x', blockNumber, blockHash },
    transactionHash: hashOf(`${blockHash} ${index}`),
    transactionIndex: '0x0',
    logIndex: `0x${index.toString(16)}`,
    removed: false,
  };
}

function bloomOf(logs: readonly ScriptedLog[]): string {
  const bytes = Buffer.alloc(256);
  for (const bit of logs.flatMap(({ address, topics }) => [address, ...topics].flatMap(hashToBits))) {
    bytes[255 - (bit >> 3)] = (bytes[255 - (bit >> 3)] ?? 0) | (1 << (bit & 7));
  }
  return `0x${bytes.toString('hex')}`;
}

export function hashOf(text: string): string {
  return `0x${createHash('sha256').update(text).digest('hex')}`;
}

export function addressOf(text: string): string {
  return hashOf(text).slice(0, 42);
}
