import { quantity } from './block-parts.ts';
import { checkLogsOfBlock, checkLogsOfRange } from './check-logs.ts';
import type { CheckedRead, ConsistencyChecker } from './consistency-checker.ts';
import type { Exchange, Tag } from './exchange.ts';
import type { TrueBlock } from './true-chain.ts';

type Result = Readonly<Record<string, unknown>> | null | undefined;

const ACCOUNT = '0xcc00000000000000000000000000000000000000';
const callParams = { to: ACCOUNT, data: '0x01' };

/** The reads that callers send, each with the check of its results. Results are compared with the true chain. */
export const checkedReads = {
  blockNumber: (): CheckedRead => ({
    ...{ method: 'eth_blockNumber', params: [] },
    check: (result, exchange, checker) => {
      checker.checkTagged('latest', Number(result), undefined, exchange);
    },
  }),

  taggedBlock: (tag: Tag): CheckedRead => ({
    ...{ method: 'eth_getBlockByNumber', params: [tag, false] },
    check: (result, exchange, checker) => {
      checkBlockAtTag(tag, (result as Result)?.['hash'], exchange, checker);
    },
  }),

  /** @param params with or without the tag `latest`, which is implied */
  nonce: (...params: readonly 'latest'[]): CheckedRead => ({
    ...{ method: 'eth_getTransactionCount', params: [ACCOUNT, ...params] },
    check: (result, exchange, checker) => {
      checker.checkState(Number(result), undefined, exchange);
    },
  }),

  balance: (): CheckedRead => ({
    ...{ method: 'eth_getBalance', params: [ACCOUNT, 'latest'] },
    check: (result, exchange, checker) => {
      const block = checker.history.blocksByBalance.get(String(result));
      if (block === undefined) checker.violate('wrong', exchange, 'the balance at a block', result);
      else checker.checkState(block.number, block, exchange);
    },
  }),

  call: (...params: readonly 'latest'[]): CheckedRead => ({
    ...{ method: 'eth_call', params: [callParams, ...params] },
    check: (result, exchange, checker) => {
      checkStateAtHash(result, exchange, checker);
    },
  }),

  /** A method without a schema, whose block parameter the gateway may not know. */
  rawNewest: (): CheckedRead => ({
    ...{ method: 'debug_getRawBlock', params: ['latest'] },
    check: (result, exchange, checker) => {
      checkStateAtHash(result, exchange, checker);
    },
  }),

  rawBlock: (target: TrueBlock): CheckedRead => ({
    ...{ method: 'debug_getRawBlock', params: [quantity(target.number)], target },
    check: (result, exchange, checker) => {
      const isMissing = result === '0x' || result === null;
      // Behind one URL, another node cannot be chosen for a method whose parameters the gateway does not know.
      const { sent, at } = exchange;
      if (isMissing && target.number > checker.history.lowestServing(sent.at, at)) return;
      const block = checker.history.blocks.get(String(result));
      if (!isMissing && block?.number !== target.number) checker.violate('wrong', exchange, target.hash, result);
      else checker.checkFixed(target, block, exchange, { isUnread: true });
    },
  }),

  blockByNumber: (target: TrueBlock): CheckedRead => ({
    ...{ method: 'eth_getBlockByNumber', params: [quantity(target.number), false], target },
    check: (result, exchange, checker) => {
      checkBlockAtHeight(target, result === null ? null : (result as Result)?.['hash'], exchange, checker);
    },
  }),

  blockByHash: (target: TrueBlock): CheckedRead => ({
    ...{ method: 'eth_getBlockByHash', params: [target.hash, false], target },
    check: (result, exchange, checker) => {
      const hash = result === null ? null : (result as Result)?.['hash'];
      if (hash === null || hash === target.hash) {
        checker.checkFixed(target, hash === null ? undefined : target, exchange, { hash: target.hash });
      } else checker.violate('wrong', exchange, target.hash, hash);
    },
  }),

  /** @param index of the transaction in its block */
  receipt: (target: TrueBlock, index: 0 | 1): CheckedRead => ({
    ...{ method: 'eth_getTransactionReceipt', params: [target.transactions[index]], target },
    check: (result, exchange, checker) => {
      const hash = result === null ? null : (result as Result)?.['blockHash'];
      const transaction = target.transactions[index];
      const includesIt = ({ transactions }: TrueBlock): boolean => transactions.includes(transaction);
      checkBlockAtHeight(target, hash, exchange, checker, includesIt, transaction);
    },
  }),

  blockReceipts: (target: TrueBlock): CheckedRead => ({
    ...{ method: 'eth_getBlockReceipts', params: [quantity(target.number)], target },
    check: (result, exchange, checker) => {
      const receipts = result as Result[] | null;
      if (Array.isArray(receipts) && receipts.length !== target.transactions.length) {
        checker.violate('wrong', exchange, `${target.transactions.length} receipts`, String(receipts.length));
      } else {
        checkBlockAtHeight(target, receipts === null ? null : receipts[0]?.['blockHash'], exchange, checker);
      }
    },
  }),

  balanceAt: (target: TrueBlock): CheckedRead => ({
    ...{ method: 'eth_getBalance', params: [ACCOUNT, quantity(target.number)], target },
    check: (result, exchange, checker) => {
      const hash = checker.history.blocksByBalance.get(String(result))?.hash;
      checkBlockAtHeight(target, hash, exchange, checker);
    },
  }),

  /** @param to undefined: up to the newest block */
  logs: (from: TrueBlock, to?: TrueBlock, address?: string): CheckedRead => ({
    method: 'eth_getLogs',
    params: [
      {
        ...{ fromBlock: quantity(from.number), toBlock: to === undefined ? 'latest' : quantity(to.number) },
        ...(address === undefined ? {} : { address }),
      },
    ],
    ...(to === undefined ? {} : { target: to }),
    check: (result, exchange, checker) => {
      checkLogsOfRange({ from: from.number, to: to?.number, address }, result, exchange, checker);
    },
  }),

  logsOfBlock: (target: TrueBlock): CheckedRead => ({
    ...{ method: 'eth_getLogs', params: [{ blockHash: target.hash }], target },
    check: (result, exchange, checker) => {
      checkLogsOfBlock(target, result, exchange, checker);
    },
  }),
} as const;

function checkBlockAtTag(tag: Tag, hash: unknown, exchange: Exchange, checker: ConsistencyChecker): void {
  const block = checker.history.blocks.get(String(hash));
  if (block === undefined) violateUnknown(hash, exchange, checker);
  else checker.checkTagged(tag, block.number, block, exchange);
}

/** @param hash of the newest block, in a result that the gateway does not read */
function checkStateAtHash(hash: unknown, exchange: Exchange, checker: ConsistencyChecker): void {
  const block = checker.history.blocks.get(String(hash));
  if (block === undefined) violateUnknown(hash, exchange, checker);
  else checker.checkState(block.number, block, exchange);
}

function violateUnknown(hash: unknown, exchange: Exchange, checker: ConsistencyChecker): void {
  const isMissing = hash === undefined || hash === null || hash === '0x';
  checker.violate(isMissing ? 'null' : 'wrong', exchange, 'a block', isMissing ? 'nothing' : hash);
}

/**
 * @param hash of the block that the result is about. Null: there is no such block
 * @param object the hash of the object, if the read names it by hash
 */
function checkBlockAtHeight(
  target: TrueBlock,
  hash: unknown,
  exchange: Exchange,
  checker: ConsistencyChecker,
  isPossible = (block: TrueBlock): boolean => block.number === target.number,
  object?: string,
): void {
  const block = checker.history.blocks.get(String(hash));
  if (hash !== null && (block === undefined || !isPossible(block))) {
    checker.violate('wrong', exchange, `block ${target.number} ${target.hash}`, hash ?? 'nothing');
  } else checker.checkFixed(target, block, exchange, { hash: object });
}
