import { RLP } from '@ethereumjs/rlp';
import type { JsonObject } from '../../collections/is-object.ts';
import { isAbsent, toBytes, toNumberBytes, typeOf, unknownForm } from './hex.ts';

/** The types whose receipts have no further members. */
const HIGHEST_TYPE = 4;

/**
 * The bytes of a receipt object in the tree of its block (EIP-658, EIP-2718). Before Byzantium it has a state root in place
 * of a status.
 * @throws unknownForm if its type is not known (OP deposits), or a member is missing
 */
export function encodeReceipt(receipt: JsonObject): Uint8Array {
  const { status, root, cumulativeGasUsed, logsBloom, logs } = receipt;
  const type = typeOf(receipt);
  if (!(type <= HIGHEST_TYPE) || !Array.isArray(logs)) throw unknownForm;
  const list = RLP.encode([
    isAbsent(status) ? toBytes(root) : toNumberBytes(status),
    toNumberBytes(cumulativeGasUsed),
    toBytes(logsBloom),
    (logs as readonly JsonObject[]).map(({ address, topics, data }) => {
      if (!Array.isArray(topics)) throw unknownForm;
      return [toBytes(address), topics.map(toBytes), toBytes(data)];
    }),
  ]);
  return type === 0 ? list : Buffer.concat([Uint8Array.of(type), list]);
}

/**
 * A receipt without the members that its block does not prove: the sender of the transaction, the price of blobs, and a state
 * root beside a status. What an upstream writes there is no evidence.
 */
export function provenReceipt(receipt: JsonObject): JsonObject {
  const { status, root } = receipt;
  return { ...receipt, from: undefined, blobGasPrice: undefined, root: isAbsent(status) ? root : undefined };
}

/** The bytes of a withdrawal object in the tree of its block (EIP-4895). @throws unknownForm */
export function encodeWithdrawal({ index, validatorIndex, address, amount }: JsonObject): Uint8Array {
  return RLP.encode([toNumberBytes(index), toNumberBytes(validatorIndex), toBytes(address), toNumberBytes(amount)]);
}
