import { RLP } from '@ethereumjs/rlp';
import type { JsonObject } from '../../collections/is-object.ts';
import { ARBITRUM_INTERNAL, CELO_FEE_CURRENCY, OP_DEPOSIT } from './encode-transaction.ts';
import { isAbsent, toBytes, toNumberBytes, typeOf, unknownForm } from './hex.ts';

/** Types of transactions whose receipts have the members of Ethereum's: its own, and those of Arbitrum Nitro. */
const plainTypes = new Set([0, 1, 2, 3, 4, 0x64, 0x65, 0x66, 0x68, 0x69, ARBITRUM_INTERNAL]);

/**
 * The bytes of a receipt object in the tree of its block (EIP-658, EIP-2718). Before Byzantium it has a state root in place
 * of a status.
 * @throws unknownForm if its type is not known, or a member is missing
 */
export function encodeReceipt(receipt: JsonObject): Uint8Array {
  const { status, root, cumulativeGasUsed, logsBloom, logs } = receipt;
  const type = typeOf(receipt);
  const more = hashedOfType(receipt);
  if (more === undefined || !Array.isArray(logs)) throw unknownForm;
  const list = RLP.encode([
    isAbsent(status) ? toBytes(root) : toNumberBytes(status),
    toNumberBytes(cumulativeGasUsed),
    toBytes(logsBloom),
    (logs as readonly JsonObject[]).map(({ address, topics, data }) => {
      if (!Array.isArray(topics)) throw unknownForm;
      return [toBytes(address), topics.map(toBytes), toBytes(data)];
    }),
    ...Object.values(more).map(toNumberBytes),
  ]);
  return type === 0 ? list : Buffer.concat([Uint8Array.of(type), list]);
}

/**
 * The members that are hashed beside those of Ethereum. A deposit has them since Canyon (op-geth, core/types/receipt.go). Before,
 * its `depositNonce` is not hashed. Undefined: the type is not known.
 */
function hashedOfType(receipt: JsonObject): JsonObject | undefined {
  const { baseFee, depositNonce, depositReceiptVersion } = receipt;
  const type = typeOf(receipt);
  if (plainTypes.has(type)) return {};
  if (type === CELO_FEE_CURRENCY) return isAbsent(baseFee) ? {} : { baseFee };
  if (type !== OP_DEPOSIT) return undefined;
  return isAbsent(depositReceiptVersion) ? {} : { depositNonce, depositReceiptVersion };
}

/** The names of members that only receipts of some types have, and that are hashed. */
export const optionalHashed = ['baseFee', 'depositNonce', 'depositReceiptVersion'] as const;

/** Members that a receipt does not prove where the first transaction of its block has this type. */
const unprovenAfter: Readonly<Record<number, JsonObject>> = {
  // Software of Arbitrum differs in it.
  [ARBITRUM_INTERNAL]: { effectiveGasPrice: undefined },
  // Since Jovian, it is a footprint of data.
  [OP_DEPOSIT]: { blobGasUsed: undefined },
};

/**
 * A receipt without the members that its block does not prove: the sender of the transaction, the price of blobs, and a state
 * root beside a status. What an upstream writes there is no evidence.
 * @param receipt has an encoding @param first receipt of its block
 */
export function provenReceipt(receipt: JsonObject, first: JsonObject): JsonObject {
  const { status, root } = receipt;
  const none = Object.fromEntries(optionalHashed.map((name) => [name, undefined]));
  const unproven = { from: undefined, blobGasPrice: undefined, root: isAbsent(status) ? root : undefined };
  return { ...receipt, ...none, ...hashedOfType(receipt), ...unproven, ...unprovenAfter[typeOf(first)] };
}

/** The bytes of a withdrawal object in the tree of its block (EIP-4895). @throws unknownForm */
export function encodeWithdrawal({ index, validatorIndex, address, amount }: JsonObject): Uint8Array {
  return RLP.encode([toNumberBytes(index), toNumberBytes(validatorIndex), toBytes(address), toNumberBytes(amount)]);
}
