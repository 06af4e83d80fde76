import type * as Mpt from '@ethereumjs/mpt';
import { RLP } from '@ethereumjs/rlp';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { loadPackage } from '../../config/load-package.ts';
import type { OwnedSteps } from '../../event-loop/owned-steps.ts';
import { hashOf, toBytes, toHex } from './hex.ts';

/** Loaded with the first proof: it costs 2 MB and 40 ms. */
const mpt = (): typeof Mpt => loadPackage('@ethereumjs/mpt') as typeof Mpt;

/** The root of a tree without values, and the hash of no code and of an empty list. */
export const EMPTY_ROOT = hashOf(RLP.encode(new Uint8Array()));
export const EMPTY_CODE = hashOf(new Uint8Array());
export const EMPTY_LIST = hashOf(RLP.encode([]));

/** The root of the Merkle Patricia tree of a list: transactions, receipts, withdrawals. */
export async function rootOf(values: Iterable<Uint8Array>, steps: OwnedSteps): Promise<string> {
  const tree = await mpt().createMPT();
  let index = 0;
  for (const value of values) {
    await tree.put(RLP.encode(index++), value);
    const pause = steps.afterSlice();
    if (pause !== undefined) await pause;
  }
  return toHex(tree.root());
}

/**
 * The value at a key of a tree, from a proof (EIP-1186).
 * @param key before it is hashed
 * @param proof nodes in hexadecimal, from the root
 * @returns undefined: the tree has no value there, which the proof shows. `invalid`: it proves nothing
 */
export async function valueIn(
  root: string,
  key: string,
  proof: readonly unknown[],
): Promise<Uint8Array | undefined | 'invalid'> {
  if (root === EMPTY_ROOT) return undefined;
  try {
    const nodes = proof.map(toBytes);
    if (nodes[0] === undefined || hashOf(nodes[0]) !== root) return 'invalid';
    return (await mpt().verifyMerkleProof(keccak_256(toBytes(key)), nodes)) ?? undefined;
  } catch {
    return 'invalid';
  }
}
