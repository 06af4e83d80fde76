import { rpcError, type RpcResponse } from '../../test/support/fake-node.ts';
import { blockHash, largeBlock } from '../large-block.ts';
import type { Random } from '../random.ts';

/** A call whose correct response is known. */
export interface KnownCall {
  readonly method: string;
  readonly params: readonly unknown[];
  /** Whether this response is correct. */
  readonly isCorrect: (response: { readonly result?: unknown; readonly error?: { readonly code: number } }) => boolean;
  /** The result is large: a failure of its upstream after the first byte ends the connection. */
  readonly flows?: true;
}

export const CHAIN_ID = 1;

const account = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`;
const hash = (number: number): string => `0x${number.toString(16).padStart(64, '0')}`;
const quantity = (number: number): string => `0x${number.toString(16)}`;
const revertData = `0x08c379a0${hash(0x20).slice(2)}${hash(4).slice(2)}${Buffer.from('shut').toString('hex').padEnd(64, '0')}`;

/** The responses of both nodes. They differ by account, storage position and hash. */
export const knownResponses: Readonly<Record<string, RpcResponse>> = {
  eth_blockNumber: '0x10',
  eth_getBlockByHash: largeBlock,
  eth_getStorageAt: ([, position]: string[]) => hash(Number(position) * 3),
  eth_getBalance: ([address]: string[]) => quantity(Number(BigInt(address ?? 0)) + 1),
  eth_getTransactionByHash: ([requested]: string[]) =>
    Number(requested) % 2 === 0 ? null : { hash: requested, blockHash, blockNumber: '0x10', from: account(1) },
  eth_call: ([{ to }]: [{ to: string }]) =>
    Number(to) % 2 === 0 ? hash(Number(to)) : rpcError(3, 'execution reverted: shut', revertData),
};

const equals = (expected: unknown): KnownCall['isCorrect'] => {
  const text = JSON.stringify(expected);
  return ({ result }) => JSON.stringify(result) === text;
};
const fails = (code: number): KnownCall['isCorrect'] => {
  return ({ error }) => error?.code === code;
};

/** A random call. Blocks of 200 kB are rare. */
export function randomCall(random: Random): KnownCall {
  const number = random.between(1, 1_000_000);
  const chance = random.next();
  if (chance < 0.4) {
    const params = [account(7), quantity(number), 'latest'];
    return { method: 'eth_getStorageAt', params, isCorrect: equals(hash(number * 3)) };
  }
  if (chance < 0.55) {
    return { method: 'eth_getBalance', params: [account(number), 'latest'], isCorrect: equals(quantity(number + 1)) };
  }
  if (chance < 0.7) {
    const isCorrect: KnownCall['isCorrect'] = ({ result }) =>
      number % 2 === 0 ? result === null : (result as { hash?: unknown } | null | undefined)?.hash === hash(number);
    return { method: 'eth_getTransactionByHash', params: [hash(number)], isCorrect };
  }
  if (chance < 0.8) {
    const isCorrect = number % 2 === 0 ? equals(hash(number)) : fails(3);
    return { method: 'eth_call', params: [{ to: account(number), data: '0x' }, 'latest'], isCorrect };
  }
  if (chance < 0.86) return { method: 'eth_blockNumber', params: [], isCorrect: equals('0x10') };
  if (chance < 0.92) return { method: 'eth_chainId', params: [], isCorrect: equals(quantity(CHAIN_ID)) };
  if (chance < 0.95) return { method: 'eth_getBalance', params: ['invalid'], isCorrect: fails(-32602) };
  if (chance < 0.98) return { method: 'eth_nothing', params: [], isCorrect: fails(-32601) };
  const isCorrect: KnownCall['isCorrect'] = ({ result }) =>
    (result as typeof largeBlock | undefined)?.transactions.length === largeBlock.transactions.length;
  return { method: 'eth_getBlockByHash', params: [blockHash, true], isCorrect, flows: true };
}
