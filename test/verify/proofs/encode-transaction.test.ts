import { keccak256, parseTransaction, toHex, type Hex, type TransactionSerializable } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { describe, expect, it } from 'vitest';
import { encodeTransaction } from '../../../gateway/verify/proofs/encode-transaction.ts';
import { isSigned } from '../../../gateway/verify/check-transactions.ts';

const account = privateKeyToAccount(`0x${'11'.repeat(32)}`);
const to = `0x${'ab'.repeat(20)}` as const;
const common = { chainId: 1, nonce: 7, gas: 21_000n, to, value: 5n, data: '0x1234' } as const;
const fees = { maxFeePerGas: 30n, maxPriorityFeePerGas: 2n } as const;
const accessList = [{ address: to, storageKeys: [`0x${'01'.repeat(32)}`] }] as const;
const blobs = { maxFeePerBlobGas: 3n, blobVersionedHashes: [`0x01${'22'.repeat(31)}`] } as const;

/** One of each type, signed by viem, which is another implementation. */
const transactions: Readonly<Record<string, () => Promise<TransactionSerializable>>> = {
  legacy: () => Promise.resolve({ ...common, type: 'legacy', gasPrice: 9n }),
  'legacy without chain id': () => Promise.resolve({ ...common, chainId: undefined, type: 'legacy', gasPrice: 9n }),
  'creation of a contract': () => Promise.resolve({ ...common, to: undefined, type: 'eip1559', ...fees }),
  'access list': () => Promise.resolve({ ...common, type: 'eip2930', gasPrice: 9n, accessList }),
  'dynamic fee': () => Promise.resolve({ ...common, type: 'eip1559', ...fees, accessList }),
  blob: () => Promise.resolve({ ...common, type: 'eip4844', ...fees, ...blobs } as TransactionSerializable),
  'set code': async () => {
    const authorization = await account.signAuthorization({ contractAddress: to, chainId: 1, nonce: 1 });
    return { ...common, type: 'eip7702', ...fees, authorizationList: [authorization] };
  },
};

/** Transaction as a node returns it. */
function asNode(raw: Hex): Record<string, unknown> {
  const parsed = parseTransaction(raw) as unknown as Record<string, unknown>;
  const types = ['legacy', 'eip2930', 'eip1559', 'eip4844', 'eip7702'];
  const quantity = (value: unknown): unknown =>
    typeof value === 'bigint' || typeof value === 'number' ? toHex(value) : value;
  const authorizations = (parsed['authorizationList'] as Record<string, unknown>[] | undefined)?.map((one) => ({
    ...Object.fromEntries(Object.entries(one).map(([name, value]) => [name, quantity(value)])),
    r: BigInt(String(one['r'])) === 0n ? '0x0' : toHex(BigInt(String(one['r']))),
    s: toHex(BigInt(String(one['s']))),
  }));
  const members = Object.fromEntries(Object.entries(parsed).map(([name, value]) => [name, quantity(value)]));
  return {
    ...{ nonce: '0x0', value: '0x0', accessList: [], ...members },
    input: members['data'] ?? '0x',
    to: members['to'] ?? null,
    type: toHex(types.indexOf(String(parsed['type']))),
    r: toHex(BigInt(String(parsed['r']))),
    s: toHex(BigInt(String(parsed['s']))),
    from: account.address,
    ...(authorizations !== undefined && { authorizationList: authorizations }),
  };
}

describe('the bytes of a transaction', () => {
  it.each(Object.entries(transactions))('%s are those that were signed', async (_, of) => {
    const raw = await account.signTransaction(await of());
    const transaction = asNode(raw);
    expect(toHex(encodeTransaction(transaction))).toBe(raw);
    expect(isSigned(transaction, keccak256(raw))).toBe(true);
    expect(isSigned({ ...transaction, from: to }, keccak256(raw))).toBe(false);
    expect(isSigned({ ...transaction, value: '0x6' }, keccak256(raw))).toBe(false);
  });

  it('are not known for the types of other chains, and without a member', async () => {
    const raw = await account.signTransaction({ ...common, type: 'eip1559', ...fees });
    const transaction = asNode(raw);
    for (const type of ['0x7e', '0x66', '0x71']) expect(isSigned({ ...transaction, type }, '0x')).toBeUndefined();
    expect(isSigned({ ...transaction, nonce: undefined }, '0x')).toBeUndefined();
  });
});
