import { blockInResult } from '../cache/block-in-result.ts';
import type { ServedBlock } from '../chain/chain.ts';
import type { ChainPoller } from '../chain/poller.ts';
import { clock } from '../clock/clock.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import { isWholeBlock } from '../normalise/results/flowing-block.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { headIn, namesItsBlock, type ReadCall } from './monotonic-reads.ts';

/* What callers are served: the newest block, and the hashes of blocks and transactions. The view of the chain has it. */

/** Transactions of a collected block that are recorded. The hashes of all blocks are bounded, too (chain/served-hashes.ts). */
const MAX_TRANSACTIONS = 5_000;
const LIST = '"transactions":[';
const HASH_IN_OBJECT = '"hash":"0x';
const HASH_IN_LIST = '"0x';
const PREFIX_CHARS = 2;
const HASH_CHARS = 66;

/** Records the block in a response that is served to a caller. */
export function recordServed(
  chain: ChainPoller<Upstream>,
  upstream: Upstream,
  { method, params, blocks, pinned, sentAt }: ReadCall,
  response: UpstreamResponse,
  now: number,
): void {
  const isLogs = method.resultIs === 'logs';
  const isHead = method.resultIs === 'head-number';
  if (method.blockAt?.readsState === true && response.kind !== 'error') {
    const { view } = chain;
    // The state of `latest` is at least that of the newest known block of the upstream.
    const known = blocks?.tag === 'latest' ? view.headOf(upstream)?.number : undefined;
    const number = pinned?.number ?? known;
    if (number !== undefined && number > view.newestServed) chain.served(upstream, { number }, now);
    // Some nodes return state for any number that a caller names.
    else if (pinned === undefined && blocks !== undefined && blocks.highest > Number(view.newestKnown))
      chain.mayHaveNewer(upstream, now);
  }
  if (!isHead && !isLogs && !namesItsBlock(method)) return;
  // The number of the pending block is not yet that of a block.
  if (params[0] === 'pending' || response.kind === 'error') return;
  const block: ServedBlock | undefined = isHead
    ? headIn(response)
    : // The last log is the newest: logs are in chain order.
      blockInResult(response, isLogs ? -1 : 0);
  if (block === undefined) return;
  const named = blocks?.tag;
  // The newest log may be older than the block of the tag.
  const isTag = named !== 'latest' && named !== undefined && !isLogs;
  // An upstream that has the block that was named in place of the tag may not have the tag yet.
  const tag = isTag && (pinned === undefined || pinned.number > chain.view.newestOf(named)) ? named : undefined;
  const isLatest = pinned === undefined && (isHead || (named === 'latest' && !isLogs));
  const isChosen = isHead && pinned !== undefined;
  chain.served(upstream, block, now, { by: 'response', sentAt, isLatest, isChosen, tag });
  if (method.looksUpHash === true) chain.servedHash(params[0], block, now);
  if (method.shape?.type !== 'Block') return;
  if (response.kind === 'large') {
    chain.servedHash(block.hash, block, now);
    void recordTransactions(chain, block, transactionHashesIn(response.parts[0], isWholeBlock(method, params)));
    return;
  }
  const { hash, transactions } = response.result as { readonly hash?: unknown; readonly transactions?: unknown };
  chain.servedHash(hash, block, now);
  // Transactions of older blocks may be null at a node without history.
  if (!chain.view.mayFollow(block.number)) return;
  for (const transaction of Array.isArray(transactions) ? (transactions as readonly unknown[]) : []) {
    const isObject = typeof transaction === 'object' && transaction !== null && 'hash' in transaction;
    chain.servedHash(isObject ? transaction.hash : transaction, block, now);
  }
}

/** Records transactions of a large block after the response to it. Never rejects. @param hashes of them */
export async function recordTransactions(
  chain: ChainPoller<Upstream>,
  block: ServedBlock | undefined,
  hashes: Iterable<string>,
): Promise<void> {
  if (block === undefined || !chain.view.mayFollow(block.number)) return;
  await clock.nextTurn();
  for (const hash of hashes) {
    const pause = timeSlicer.next();
    if (pause !== undefined) await pause;
    chain.servedHash(hash, block, clock.now());
  }
  void chain.whenShared();
}

/**
 * The hashes of the transactions in the bytes of a block, searched one by one: parsing a large block is slow. Nodes write JSON
 * without spaces.
 * @param areObjects the block has whole transactions, not their hashes
 */
function* transactionHashesIn(bytes: Buffer, areObjects: boolean): Generator<string> {
  const start = areObjects ? 0 : bytes.indexOf(LIST);
  if (start === -1) return;
  const end = areObjects ? bytes.length : bytes.indexOf(']', start);
  const name = areObjects ? HASH_IN_OBJECT : HASH_IN_LIST;
  let at = bytes.indexOf(name, start);
  for (let count = 0; at !== -1 && at < end && count < MAX_TRANSACTIONS; count++) {
    const from = at + name.length - PREFIX_CHARS;
    yield bytes.toString('latin1', from, from + HASH_CHARS);
    at = bytes.indexOf(name, from + HASH_CHARS);
  }
}
