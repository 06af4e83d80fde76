import { fetchResult, type RpcEndpoint } from './rpc-endpoint.ts';

/** Objects of a chain that calls can refer to, read from the node. */
export interface ChainFacts {
  readonly blocks: readonly BlockFacts[];
  /** Addresses that appear in transactions, contracts first. */
  readonly addresses: readonly string[];
  /** Calls that work and calls that fail. */
  readonly executions: readonly object[];
  /** An address that holds ether. */
  readonly funded: string;
  /** Raw transactions. */
  readonly rejectedTransactions: readonly string[];
}

export interface BlockFacts {
  readonly number: string;
  readonly hash: string;
  readonly transactions: readonly string[];
}

interface Block {
  readonly number: string;
  readonly hash: string;
  readonly transactions: readonly Transaction[];
}

interface Transaction {
  readonly hash: string;
  readonly from: string;
  readonly to: string | null;
  readonly r: string;
  readonly s: string;
  readonly type: string;
}

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

/** Reads all blocks of a small chain. @param own facts about its contracts and accounts, if they are known */
export async function readChain(
  node: RpcEndpoint,
  own?: Pick<ChainFacts, 'executions' | 'funded' | 'rejectedTransactions'>,
): Promise<ChainFacts & { readonly transactions: readonly Transaction[] }> {
  const head = Number(await fetchResult<string>(node, 'eth_blockNumber'));
  const blocks: Block[] = [];
  for (let number = 0; number <= head; number++) {
    blocks.push(await fetchResult<Block>(node, 'eth_getBlockByNumber', `0x${number.toString(16)}`, true));
  }
  const transactions = blocks.flatMap((block) => block.transactions);
  const found = new Set(transactions.flatMap(({ from, to }) => (to === null ? [from] : [from, to])));
  const codes = new Map<string, string>();
  for (const address of [...found].slice(0, 40)) {
    codes.set(address, await fetchResult<string>(node, 'eth_getCode', address, 'latest'));
  }
  const addresses = [...codes.keys()].sort((a, b) => Number(codes.get(a) === '0x') - Number(codes.get(b) === '0x'));
  return {
    blocks: blocks.map(({ number, hash, transactions: list }) => ({
      number,
      hash,
      transactions: list.map((transaction) => transaction.hash),
    })),
    addresses,
    transactions,
    executions: own?.executions ?? addresses.slice(0, 4).map((to) => ({ to, data: '0x' })),
    funded: own?.funded ?? addresses.at(-1) ?? ZERO_ADDRESS,
    rejectedTransactions: own?.rejectedTransactions ?? [],
  };
}

/** Whether `r` or `s` of a signature has a leading zero digit: about one transaction in 8. */
export function isShort({ r, s }: Pick<Transaction, 'r' | 's'>): boolean {
  return Math.min(BigInt(r).toString(16).length, BigInt(s).toString(16).length) < 64;
}
