import { blockInResult } from '../cache/block-in-result.ts';
import { responseBytes } from '../jsonrpc/response.ts';
import { FlowingBlock, isWholeBlock } from '../normalise/results/flowing-block.ts';
import { FlowingList, isObjectList, listElementsOf } from '../normalise/results/flowing-list.ts';
import { lower } from '../spec/bounds.ts';
import { passesUnread } from '../spec/method-group.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { blocksNamedBy } from '../upstreams/available-blocks.ts';
import { jsonResponse } from '../upstreams/transport/upstream-response.ts';
import type { FlowRequest } from '../upstreams/upstream.ts';
import type { Call } from './call.ts';
import { isOlderThanServed } from './monotonic-reads.ts';
import { recordTransactions } from './record-served.ts';

/** Whether a large result of the method may be passed on while it arrives. */
export function hasFlowingResults(method: MethodSpec): boolean {
  return method.shape?.type === 'Block' || isObjectList(method) || passesUnread(method);
}

/**
 * Whether and how a large result may be passed on to the caller while it arrives: over HTTP, to a call alone.
 * @returns undefined if it must be collected
 */
export function flowOf(call: Call): FlowRequest | undefined {
  const { method, id, context, canFlow, rules } = call;
  if (!canFlow || !rules.mayFlow) return undefined;
  if (id === undefined || context === undefined || context.batchBudget !== undefined) return undefined;
  const { params } = call.pinned ?? call;
  const openReader = readerOf(call, params);
  if (openReader === undefined && !passesUnread(method)) return undefined;
  const maxBytes = lower(context.network.bounds.maxResponseBytes, context.access.bounds?.maxResponseBytes) ?? Infinity;
  return {
    ...{ maxBytes: maxBytes - responseBytes(id), mayBegin: () => mayBegin(call), isHedged: () => call.isHedged },
    ...(openReader && { openReader }),
  };
}

/** Reader of the result; undefined: it passes unread, or must be collected. */
function readerOf(call: Call, params: readonly unknown[]): FlowRequest['openReader'] {
  const { method, router } = call;
  if (isObjectList(method)) {
    if (mustBeComplete(call, params)) return undefined;
    return () => new FlowingList(listElementsOf(method, params));
  }
  if (!isWholeBlock(method, params)) return undefined;
  const { chain } = router;
  const isUsable = (head: Buffer): boolean => !isOlderThanServed(chain.view, call, jsonResponse(head));
  const record = (head: Buffer, hashes: readonly string[]): void =>
    void recordTransactions(chain, blockInResult(jsonResponse(head)), hashes);
  return () => new FlowingBlock(method, params, isUsable, record);
}

/**
 * Whether a list must be complete before it is sent: receipts may be older than what callers were served, and other workers
 * must know the newest block of logs.
 */
function mustBeComplete({ method, router: { chain } }: Call, params: readonly unknown[]): boolean {
  if (method.resultIs === 'logs' && !chain.isShared) return false;
  const blocks = blocksNamedBy(method, params);
  if (blocks?.tag !== undefined) return true;
  // A block that is named by its hash may be new.
  return chain.isShared && (blocks === undefined || blocks.highest > Number(chain.view.newestServed));
}

/** Whether the first bytes may go to the caller: the result is for it alone, and nothing can replace it. */
function mayBegin(call: Call): boolean {
  const { isHedged, isRequestedAgain, unconfirmed, coalesced } = call;
  // A result that is requested again is cached.
  if (isHedged || isRequestedAgain || unconfirmed !== undefined) return false;
  return coalesced?.tryClose() !== false;
}
