import { RLP } from '@ethereumjs/rlp';
import { isObject } from '../../collections/is-object.ts';
import { toHex } from './hex.ts';
import { EMPTY_CODE, EMPTY_ROOT, valueIn } from './tree.ts';

/** An account as the state has it. */
export interface ProvenAccount {
  readonly nonce: bigint;
  readonly balance: bigint;
  readonly storageRoot: string;
  readonly codeHash: string;
}

const noAccount: ProvenAccount = { nonce: 0n, balance: 0n, storageRoot: EMPTY_ROOT, codeHash: EMPTY_CODE };

/** The account that a result of `eth_getProof` proves. Undefined: it proves nothing. */
export async function provenAccount(
  stateRoot: string,
  address: string,
  proof: unknown,
): Promise<ProvenAccount | undefined> {
  const { accountProof } = isObject(proof) ? (proof as { accountProof?: unknown }) : {};
  if (!Array.isArray(accountProof)) return undefined;
  const value = await valueIn(stateRoot, address, accountProof);
  if (value === 'invalid') return undefined;
  if (value === undefined) return noAccount;
  const [nonce, balance, storageRoot, codeHash] = RLP.decode(value) as Uint8Array[];
  if (nonce === undefined || balance === undefined || storageRoot === undefined || codeHash === undefined)
    return undefined;
  return {
    nonce: toBigInt(nonce),
    balance: toBigInt(balance),
    storageRoot: toHex(storageRoot),
    codeHash: toHex(codeHash),
  };
}

/**
 * The value of a slot that a result of `eth_getProof` proves. Undefined: it proves nothing.
 * @param slot of 32 bytes
 */
export async function provenSlot(storageRoot: string, slot: string, proof: unknown): Promise<bigint | undefined> {
  const { storageProof } = isObject(proof) ? (proof as { storageProof?: unknown }) : {};
  const entry: unknown = Array.isArray(storageProof)
    ? (storageProof as unknown[]).find((one) => isObject(one) && isSlot(one['key'], slot))
    : undefined;
  if (!isObject(entry)) return storageRoot === EMPTY_ROOT ? 0n : undefined;
  const value = await valueIn(storageRoot, slot, (entry['proof'] as unknown[] | undefined) ?? []);
  if (value === 'invalid') return undefined;
  return value === undefined ? 0n : toBigInt(RLP.decode(value) as Uint8Array);
}

/** Nodes write the key as they got it, as a quantity, or with 32 bytes. */
function isSlot(key: unknown, slot: string): boolean {
  return typeof key === 'string' && /^0x[0-9a-f]{1,64}$/i.test(key) && BigInt(key) === BigInt(slot);
}

function toBigInt(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(toHex(bytes));
}
