import { balanceAt, blockObject, callResultAt, logObject, rawBlock, receiptObject } from './block-objects.ts';
import { addressOf, quantity } from './block-parts.ts';
import { ancestorAt, blocksBetween, findBlock, logsOf, type TrueBlock } from './true-chain.ts';

/** How node software differs about blocks that the node does not have. */
export interface NodeSoftware {
  /** An upper end above the head: geth rejects it since 2025, others return the logs up to the head. */
  readonly rejectsFutureLogs: boolean;
  /** The result of debug_getRawBlock for a missing block. */
  readonly missingRawBlock: '0x' | null;
}

/** What a node has. */
export interface NodeView {
  readonly software: NodeSoftware;
  readonly head: TrueBlock;
}

export type NodeResponse =
  { readonly result: unknown } | { readonly error: { readonly code: number; readonly message: string } };

interface LogFilter {
  readonly blockHash?: string;
  readonly fromBlock?: string;
  readonly toBlock?: string;
  readonly address?: string | readonly string[];
}

const HEADER_NOT_FOUND = failure(-32000, 'header not found');
const RANGE_IN_FUTURE = failure(-32602, 'block range extends beyond current head block');

/** The response of a node that has the branch of the view. */
export function respond(chainId: number, view: NodeView, method: string, params: readonly unknown[]): NodeResponse {
  const [first, second] = params;
  switch (method) {
    case 'eth_chainId':
      return success(quantity(chainId));
    case 'net_version':
      return success(String(chainId));
    case 'eth_syncing':
      return success(false);
    case 'eth_blockNumber':
      return success(quantity(view.head.number));
    case 'eth_getBlockByNumber':
      return found(blockAt(view, first), (block) => blockObject(block, params[1] === true));
    case 'eth_getBlockByHash':
      return found(blockWith(view, first), (block) => blockObject(block, params[1] === true));
    case 'eth_getBlockReceipts':
      return found(blockAt(view, first) ?? blockWith(view, first), (block) =>
        [0, 1].map((at) => receiptObject(block, at)),
      );
    case 'eth_getTransactionReceipt':
      return receiptOf(view, first);
    case 'eth_getTransactionCount':
      return stateAt(view, second, ({ number }) => quantity(number));
    case 'eth_getBalance':
      return stateAt(view, second, balanceAt);
    case 'eth_call':
      return stateAt(view, second, callResultAt);
    case 'debug_getRawBlock': {
      const block = blockAt(view, first);
      return success(block === undefined ? view.software.missingRawBlock : rawBlock(block));
    }
    case 'eth_getLogs':
      return logsIn(view, first ?? {});
    default:
      return failure(-32601, `the method ${method} does not exist/is not available`);
  }
}

function success(result: unknown): NodeResponse {
  return { result };
}

function failure(code: number, message: string): NodeResponse {
  return { error: { code, message } };
}

function found(block: TrueBlock | undefined, objectOf: (block: TrueBlock) => unknown): NodeResponse {
  return success(block === undefined ? null : objectOf(block));
}

function stateAt(view: NodeView, block: unknown, valueAt: (block: TrueBlock) => string): NodeResponse {
  const { blockHash } = (block ?? {}) as { blockHash?: unknown };
  const at = blockHash === undefined ? blockAt(view, block ?? 'latest') : blockWith(view, blockHash);
  return at === undefined ? HEADER_NOT_FOUND : success(valueAt(at));
}

function receiptOf({ head }: NodeView, transaction: unknown): NodeResponse {
  const block = findBlock(head, String(transaction));
  const index = block?.transactions.indexOf(String(transaction)) ?? -1;
  return success(block === undefined || index === -1 ? null : receiptObject(block, index));
}

function logsIn(view: NodeView, { blockHash, fromBlock, toBlock, address }: LogFilter): NodeResponse {
  const addresses = address === undefined ? undefined : [address].flat();
  const listOf = (blocks: readonly TrueBlock[]): NodeResponse => {
    const logs = blocks.flatMap((block) => logsOf(block));
    return success(logs.filter(({ index }) => addresses?.includes(addressOf(index)) ?? true).map(logObject));
  };
  if (blockHash !== undefined) {
    const block = blockWith(view, blockHash);
    return block === undefined ? failure(-32000, 'unknown block') : listOf([block]);
  }
  const { head, software } = view;
  const [from, to] = [fromBlock, toBlock].map((bound) => numberOf(head, bound ?? 'latest')) as [number, number];
  if (software.rejectsFutureLogs && to > head.number) return RANGE_IN_FUTURE;
  return listOf(blocksBetween(head, from, to));
}

function blockAt({ head }: NodeView, block: unknown): TrueBlock | undefined {
  return ancestorAt(head, numberOf(head, block));
}

function blockWith({ head }: NodeView, hash: unknown): TrueBlock | undefined {
  const block = findBlock(head, String(hash));
  return block?.hash === hash ? block : undefined;
}

function numberOf(head: TrueBlock, block: unknown): number {
  switch (block) {
    case 'latest':
    case 'pending':
      return head.number;
    case 'safe':
    case 'finalized':
      return head[block];
    case 'earliest':
      return 0;
    default:
      return Number(block);
  }
}
