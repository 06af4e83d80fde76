import { blockInResult } from '../cache/block-in-result.ts';
import type { ServedBlock } from '../chain/chain.ts';
import type { ChainPoller } from '../chain/poller.ts';
import { clock } from '../clock/clock.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import type { FlowingBlock } from '../normalise/results/flowing-block.ts';
import type { ResultReader } from '../upstreams/transport/flowing-result.ts';
import { jsonResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';

/* The transactions of large blocks that callers are served. */

/** Of a block that was collected: the hashes of all blocks are bounded, too (chain/served-hashes.ts). */
const MAX_TRANSACTIONS = 5_000;
/** As many as the view of the chain has. */
const MAX_FOLLOWED_BLOCKS = 512n;
const LIST = '"transactions":[';
const HASH_IN_OBJECT = '"hash":"0x';
const HASH_IN_LIST = '"0x';
const PREFIX_CHARS = 2;
const HASH_CHARS = 66;

/** Of the chain that calls are sent for. */
type Chain = ChainPoller<Upstream>;

/** Records transactions of a large block after the response to it. Never rejects. @param hashes of them */
export async function recordTransactions(chain: Chain, block: ServedBlock, hashes: Iterable<string>): Promise<void> {
  if (!mayBeFollowed(chain, block)) return;
  await clock.nextTurn();
  for (const hash of hashes) {
    const pause = timeSlicer.next();
    if (pause !== undefined) await pause;
    chain.servedHash(hash, block.hash, clock.now());
  }
}

/**
 * The hashes of the transactions in the bytes of a block, searched one by one: parsing a large block is slow. Nodes write JSON
 * without spaces.
 * @param areObjects the block has whole transactions, not their hashes
 */
export function* transactionHashesIn(bytes: Buffer, areObjects: boolean): Generator<string> {
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

/** What older blocks have is not recorded: their transactions may be null at a node that has no history. */
export function mayBeFollowed({ view }: Chain, { number }: ServedBlock): boolean {
  return number + MAX_FOLLOWED_BLOCKS > view.newestKnown;
}

/** Reads a block with whole transactions that flows, and records them. */
export class ServedBlockReader implements ResultReader {
  readonly #chain: Chain;
  readonly #reader: FlowingBlock;
  #block: ServedBlock | undefined;

  constructor(chain: Chain, reader: FlowingBlock) {
    this.#chain = chain;
    this.#reader = reader;
  }

  get head(): Buffer | undefined {
    return this.#reader.head;
  }

  read(chunk: Buffer, passed: Buffer[]): number {
    const end = this.#reader.read(chunk, passed);
    const { head } = this.#reader;
    this.#block ??= head && blockInResult(jsonResponse(head));
    const hashes = this.#reader.takeHashes();
    if (this.#block !== undefined && hashes.length > 0) void recordTransactions(this.#chain, this.#block, hashes);
    return end;
  }
}
