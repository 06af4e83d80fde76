import { rpcError, type RpcResponse } from '../test/support/fake-node.ts';
import { blockHash, largeBlock } from './large-block.ts';
import type { Random } from './random.ts';

/** A call of which the right answer is known. */
export interface KnownCall {
  readonly method: string;
  readonly params: readonly unknown[];
  /** Whether this, the answer without its envelope, is right. */
  readonly isRight: (response: { readonly result?: unknown; readonly error?: { readonly code: number } }) => boolean;
}

export const CHAIN_ID = 1;

const account = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`;
const hash = (number: number): string => `0x${number.toString(16).padStart(64, '0')}`;
const quantity = (number: number): string => `0x${number.toString(16)}`;
const revertData = `0x08c379a0${hash(0x20).slice(2)}${hash(4).slice(2)}${Buffer.from('shut').toString('hex').padEnd(64, '0')}`;

/** What both nodes say: of each account, position and hash something else. */
export const knownAnswers: Readonly<Record<string, RpcResponse>> = {
  eth_blockNumber: '0x10',
  eth_getBlockByHash: largeBlock,
  eth_getStorageAt: ([, position]: string[]) => hash(Number(position) * 3),
  eth_getBalance: ([address]: string[]) => quantity(Number(BigInt(address ?? 0)) + 1),
  eth_getTransactionByHash: ([wanted]: string[]) =>
    Number(wanted) % 2 === 0 ? null : { hash: wanted, blockHash, blockNumber: '0x10', from: account(1) },
  eth_call: ([{ to }]: [{ to: string }]) =>
    Number(to) % 2 === 0 ? hash(Number(to)) : rpcError(3, 'execution reverted: shut', revertData),
};

const is = (expected: unknown): KnownCall['isRight'] => {
  const text = JSON.stringify(expected);
  return ({ result }) => JSON.stringify(result) === text;
};
const fails = (code: number): KnownCall['isRight'] => {
  return ({ error }) => error?.code === code;
};

/** One call of many kinds; blocks of 200 kB are rare. */
export function knownCall(random: Random): KnownCall {
  const number = random.between(1, 1_000_000);
  const chance = random.next();
  if (chance < 0.4) {
    const params = [account(7), quantity(number), 'latest'];
    return { method: 'eth_getStorageAt', params, isRight: is(hash(number * 3)) };
  }
  if (chance < 0.55) {
    return { method: 'eth_getBalance', params: [account(number), 'latest'], isRight: is(quantity(number + 1)) };
  }
  if (chance < 0.7) {
    const isRight: KnownCall['isRight'] = ({ result }) =>
      number % 2 === 0 ? result === null : (result as { hash?: unknown } | null | undefined)?.hash === hash(number);
    return { method: 'eth_getTransactionByHash', params: [hash(number)], isRight };
  }
  if (chance < 0.8) {
    const isRight = number % 2 === 0 ? is(hash(number)) : fails(3);
    return { method: 'eth_call', params: [{ to: account(number), data: '0x' }, 'latest'], isRight };
  }
  if (chance < 0.86) return { method: 'eth_blockNumber', params: [], isRight: is('0x10') };
  if (chance < 0.92) return { method: 'eth_chainId', params: [], isRight: is(quantity(CHAIN_ID)) };
  if (chance < 0.95) return { method: 'eth_getBalance', params: ['nobody'], isRight: fails(-32602) };
  if (chance < 0.98) return { method: 'eth_nothing', params: [], isRight: fails(-32601) };
  const isRight: KnownCall['isRight'] = ({ result }) =>
    (result as typeof largeBlock | undefined)?.transactions.length === largeBlock.transactions.length;
  return { method: 'eth_getBlockByHash', params: [blockHash, true], isRight };
}
