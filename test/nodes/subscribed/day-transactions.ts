import { parseGwei, type Hex, type SignedAuthorization } from 'viem';
import { privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts';
import { makeBlobTransaction } from '../../parity/blob-transaction.ts';
import type { RpcEndpoint } from '../../parity/rpc-endpoint.ts';
import { quantity } from '../day/day-block.ts';

/**
 * A contract that emits as many logs as its input says: CALLDATALOAD; JUMPDEST, until 0: LOG1 with 32 bytes of data and
 * the count as topic, count - 1. 14,000 logs stay below the gas that Osaka allows a transaction (EIP-7825).
 */
export const logLoop = {
  address: `0x${'2b'.repeat(20)}`,
  code: '0x6000355b80156016578060206000a1600190036003565b00',
} as const;

export const types = ['legacy', 'eip2930', 'eip1559', 'eip4844', 'eip7702'] as const;
type Type = (typeof types)[number];

/** One account for each type: geth's pool rejects a blob transaction beside others of its account. */
export const accounts: readonly PrivateKeyAccount[] = types.map((_, index) =>
  privateKeyToAccount(`0x${String(index + 1).repeat(64)}`),
);
const delegate = privateKeyToAccount(`0x${'8'.repeat(64)}`);
const MAX_GAS = 16_777_216n;

/** Signs transactions, and counts the nonces. */
export class DayTransactions {
  readonly #chainId: number;
  readonly #node: RpcEndpoint;
  readonly #nonces = new Map<Type, number>();
  #delegations = 0;

  /** @param node computes the proofs of blobs */
  constructor(chainId: number, node: RpcEndpoint) {
    this.#chainId = chainId;
    this.#node = node;
  }

  /** @param logs that the transaction emits */
  async sign(type: Type, logs: number): Promise<Hex> {
    const account = accounts[types.indexOf(type)] as PrivateKeyAccount;
    const nonce = this.#nonces.get(type) ?? 0;
    this.#nonces.set(type, nonce + 1);
    const data = `0x${logs.toString(16).padStart(64, '0')}` as const;
    const common = { to: logLoop.address, data, nonce, chainId: this.#chainId, gas: MAX_GAS };
    const fees = { maxFeePerGas: parseGwei('20'), maxPriorityFeePerGas: parseGwei('1') };
    const gasPrice = parseGwei('20');
    switch (type) {
      case 'legacy':
        return account.signTransaction({ ...common, type, gasPrice });
      case 'eip2930':
        return account.signTransaction({
          ...common,
          type,
          gasPrice,
          accessList: [{ address: logLoop.address, storageKeys: [] }],
        });
      case 'eip1559':
        return account.signTransaction({ ...common, type, ...fees });
      case 'eip7702':
        return account.signTransaction({ ...common, type, ...fees, authorizationList: [await this.#authorize()] });
      case 'eip4844':
        return this.#signBlob(account, { from: account.address, to: logLoop.address, data, nonce: quantity(nonce) });
    }
  }

  #authorize(): Promise<SignedAuthorization> {
    return delegate.signAuthorization({
      contractAddress: logLoop.address,
      chainId: this.#chainId,
      nonce: this.#delegations++,
    });
  }

  /** @throws Error without the blob of 131,072 bytes, which is in geth's error */
  #signBlob(account: PrivateKeyAccount, transaction: object): Promise<Hex> {
    return makeBlobTransaction(this.#node, account, transaction).catch((error: unknown) => {
      throw new Error(String(error).slice(0, 300));
    });
  }
}
