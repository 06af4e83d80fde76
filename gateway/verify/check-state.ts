import { isObject, type JsonObject } from '../collections/is-object.ts';
import { readProof, type ProvenState } from './evidence/evidence.ts';
import { hashOf, isAbsent, isSameHex, toBytes } from './proofs/hex.ts';
import { EMPTY_CODE } from './proofs/tree.ts';
import { disproved, headerOf, proven, unknown, type Subject, type Finding } from './subject.ts';

/** Balance, nonce, code or a slot of an account: a proof at the state root of the block has it. */
export async function checkState(subject: Subject): Promise<Finding> {
  const { method, params, result, evidence, work } = subject;
  if (typeof result !== 'string') return unknown;
  const [address, second] = params;
  const isSlot = method.provenAs === 'slot';
  const slots = isSlot ? [paddedSlot(second)] : [];
  const header = await headerOf(isSlot ? params[2] : second, subject);
  const found = header && (await evidence.account(header, String(address), slots, work));
  if (found === undefined) return unknown;
  const { account } = found;
  switch (method.provenAs) {
    case 'balance':
      return BigInt(result) === account.balance ? proven('proof') : disproved('another balance');
    case 'nonce':
      return BigInt(result) === account.nonce ? proven('proof') : disproved('another nonce');
    case 'code':
      return hashOf(toBytes(result)) === account.codeHash ? proven('proof') : disproved('other code');
    default:
      return BigInt(result) === found.slots[0] ? proven('proof') : disproved('another value of a slot');
  }
}

/** A result of `eth_getProof`: it proves itself at the state root of the block. */
export async function checkAccountProof(subject: Subject): Promise<Finding> {
  const { params, result, evidence, work } = subject;
  const [address, positions, block] = params;
  const header = await headerOf(block, subject);
  if (header === undefined || !isObject(result) || !Array.isArray(positions)) return unknown;
  const slots = positions.map(paddedSlot);
  const found = await readProof(header, String(address), slots, result);
  if (found !== undefined && hasValues(result, found) && namesThem(result, address, slots)) return proven('proof');
  const trusted = work.isEvidence ? undefined : await evidence.account(header, String(address), slots, work);
  return trusted === undefined ? unknown : disproved('a proof that proves other values');
}

/** Whether a proof names the account and the slots for which it is, if it names any. */
function namesThem({ address, storageProof }: JsonObject, account: unknown, slots: readonly string[]): boolean {
  const keys = ((storageProof as readonly JsonObject[] | undefined) ?? []).map(({ key }) => key);
  return (
    (isAbsent(address) || isSameHex(address, account)) &&
    keys.every((key, at) => isAbsent(key) || paddedSlot(key) === slots[at])
  );
}

const ZERO = `0x${'0'.repeat(64)}`;

/** Whether the values beside the proofs are those that they prove. */
function hasValues(
  { balance, nonce, codeHash, storageHash, storageProof }: JsonObject,
  { account, slots }: ProvenState,
): boolean {
  const values = (storageProof as readonly JsonObject[] | undefined) ?? [];
  // geth has zeros in place of the hashes of an account that does not exist.
  const isEmpty = account.nonce === 0n && account.balance === 0n && account.codeHash === EMPTY_CODE;
  const isHash = (hash: unknown, proven: string): boolean => isSameHex(hash, proven) || (isEmpty && hash === ZERO);
  return (
    BigInt(String(balance)) === account.balance &&
    BigInt(String(nonce)) === account.nonce &&
    isHash(codeHash, account.codeHash) &&
    isHash(storageHash, account.storageRoot) &&
    values.length === slots.length &&
    slots.every((slot, at) => BigInt(String(values[at]?.['value'])) === slot)
  );
}

/** A storage position with 32 bytes. */
function paddedSlot(position: unknown): string {
  return `0x${String(position).replace(/^0x/i, '').padStart(64, '0').toLowerCase()}`;
}
