import { fromRlp, keccak256, toRlp, type Hex, type PrivateKeyAccount } from 'viem';
import { fetchResult, type RpcEndpoint } from './rpc-endpoint.ts';

type Rlp = Hex | Rlp[];

const BLOB = `0x${'01'.padStart(64, '0').repeat(4_096)}` as const;
const BLOB_TYPE = '0x03';
const [V, R, S] = [-3, -2, -1];

/**
 * A signed blob transaction with its sidecar. geth computes the commitments and proofs (eth_fillTransaction), so that the
 * tests need no KZG library.
 */
export async function makeBlobTransaction(
  node: RpcEndpoint,
  account: PrivateKeyAccount,
  transaction: object,
): Promise<Hex> {
  const request = { gas: '0x61a80', maxFeePerBlobGas: '0x3b9aca00', ...transaction, blobs: [BLOB] };
  const { raw } = await fetchResult<{ raw: Hex }>(node, 'eth_fillTransaction', request);
  // EIP-4844: type || rlp([[fields and signature], (version,) blobs, commitments, proofs])
  const [fields, ...sidecar] = fromRlp(`0x${raw.slice(4)}`) as [Rlp[], ...Rlp[]];
  const unsigned = fields.slice(0, V);
  const signature = await account.sign({ hash: keccak256(join(BLOB_TYPE, toRlp(unsigned))) });
  const signed = [...unsigned, Number(`0x${signature.slice(-2)}`) === 27 ? '0x' : '0x01', ...scalars(signature)];
  if (signed.length !== fields.length) throw new Error(`a blob transaction has ${V}, ${R} and ${S} as its last fields`);
  return join(BLOB_TYPE, toRlp([signed as Rlp[], ...sidecar] as Rlp[]));
}

/** RLP encodes integers without leading zeros. */
function scalars(signature: Hex): Hex[] {
  return [signature.slice(2, 66), signature.slice(66, 130)].map((digits) => {
    const short = digits.replace(/^(00)+/, '');
    return `0x${short}` as const;
  });
}

function join(first: Hex, second: Hex): Hex {
  return `0x${first.slice(2)}${second.slice(2)}`;
}
