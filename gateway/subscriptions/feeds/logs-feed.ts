import type { CanonicalChain, ChainChange } from '../../heads/canonical-chain.ts';
import type { Header } from '../../heads/header.ts';
import type { BlockLogs } from './block-logs.ts';
import type { Unsubscribe, Subscriber } from './subscriber.ts';
import type { Log, LogFilter } from './log-filter.ts';
import { LogFilterIndex, type LogFilterGroup } from './log-filter-index.ts';
import { LogsBloom } from './logs-bloom.ts';
import { DeliveredLogs } from './delivered-logs.ts';

/** Blocks whose logs are asked for at once; they are told in order all the same. */
const MAX_CONCURRENT_FETCHES = 8;
/** Blocks that may wait for their logs. Whoever is so far behind is told that there is a gap. */
const MAX_WAITING_BLOCKS = 1_000;

/** A step of the chain that is still to be told. */
type Step = Added | { readonly removed: string };

interface Added {
  readonly header: Header;
  /** Counts all blocks that were added since the feed began. */
  readonly number: number;
  logs: Promise<readonly Log[]> | undefined;
  isCancelled: boolean;
}

/**
 * Tells the logs of each block, which all listeners together have asked of the upstreams once; and those of a block
 * that is taken back once more, with `removed: true`, newest first. (geth tells those oldest first, and calls that
 * borked in core/blockchain.go.) Each listener is told of blocks that came after it, and of those that it was told of.
 */
export class LogsFeed {
  readonly #chain: CanonicalChain;
  readonly #blockLogs: BlockLogs;
  readonly #filters = new LogFilterIndex();
  readonly #steps: Step[] = [];
  #delivered = new DeliveredLogs();
  #blockNumber = 0;
  #isDelivering = false;
  #stopWatching: Unsubscribe | undefined;

  constructor(chain: CanonicalChain, blockLogs: BlockLogs) {
    this.#chain = chain;
    this.#blockLogs = blockLogs;
  }

  join(filter: LogFilter, listener: Subscriber): Unsubscribe {
    const unsubscribe = this.#filters.add(filter, listener, this.#blockNumber);
    this.#stopWatching ??= this.#chain.watch((change) => {
      this.#handleChange(change);
    });
    return () => {
      unsubscribe();
      if (this.#filters.size === 0) this.#stop();
    };
  }

  #handleChange({ removed, added, hasGap: isFresh }: ChainChange): void {
    if (isFresh === true) {
      this.#reportGap();
      return;
    }
    for (const { hash } of removed) this.#handleRemoved(hash);
    for (const header of added) {
      this.#steps.push({ header, number: ++this.#blockNumber, logs: undefined, isCancelled: false });
    }
    if (this.#steps.length > MAX_WAITING_BLOCKS) this.#reportGap();
    else void this.#deliverAll();
  }

  /** What was not told yet need not be taken back. All that waits is newer than what was told, and goes with it. */
  #handleRemoved(hash: string): void {
    const last = this.#steps.at(-1);
    if (last !== undefined && 'header' in last && last.header.hash === hash) {
      last.isCancelled = true;
      this.#steps.pop();
    } else this.#steps.push({ removed: hash });
  }

  /** One step after the other. Never rejects. */
  async #deliverAll(): Promise<void> {
    this.#startFetches();
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    for (let step = this.#steps[0]; step !== undefined; step = this.#steps[0]) {
      if ('removed' in step) this.#deliverRemoved(step.removed);
      else {
        const logs = await (step.logs ??= this.#logsOf(step));
        // Taken back, or lost, in the meantime.
        if (step !== this.#steps[0]) continue;
        this.#deliverAdded(step, logs);
      }
      this.#steps.shift();
      this.#startFetches();
    }
    this.#isDelivering = false;
  }

  #startFetches(): void {
    for (const step of this.#steps.slice(0, MAX_CONCURRENT_FETCHES))
      if ('header' in step) step.logs ??= this.#logsOf(step);
  }

  #logsOf(step: Added): Promise<readonly Log[]> {
    const bloom = new LogsBloom(step.header.block['logsBloom']);
    if (this.#blockLogs.canUse(bloom) && !this.#filters.mayMatch(bloom)) return Promise.resolve([]);
    return this.#blockLogs.logsOf(step.header, () => !step.isCancelled);
  }

  #deliverAdded({ header, number }: Added, logs: readonly Log[]): void {
    const results = new Map<LogFilterGroup, string[]>();
    const sent: string[] = [];
    for (const log of logs) {
      let result: string | undefined;
      for (const group of this.#filters.matching(log, header.number)) {
        result ??= JSON.stringify({ ...log, removed: false });
        addResult(results, group, result);
      }
      if (result !== undefined) sent.push(result);
    }
    this.#delivered.add(header, number, sent);
    deliverResults(results, number);
  }

  #deliverRemoved(hash: string): void {
    const block = this.#delivered.remove(hash);
    // Added before anybody listened.
    if (block === undefined) return;
    if (block.results === undefined) {
      this.#reportGap();
      return;
    }
    const results = new Map<LogFilterGroup, string[]>();
    for (const text of block.results.toReversed()) {
      const log = JSON.parse(text) as Log;
      const result = JSON.stringify({ ...log, removed: true });
      for (const group of this.#filters.matching(log, block.header.number)) addResult(results, group, result);
    }
    deliverResults(results, block.number);
  }

  #reportGap(): void {
    for (const listener of this.#filters.listeners()) listener.markGap();
    this.#reset();
  }

  #stop(): void {
    this.#stopWatching?.();
    this.#stopWatching = undefined;
    this.#reset();
  }

  #reset(): void {
    for (const step of this.#steps) if ('header' in step) step.isCancelled = true;
    this.#steps.length = 0;
    this.#delivered = new DeliveredLogs();
  }
}

function addResult(results: Map<LogFilterGroup, string[]>, group: LogFilterGroup, result: string): void {
  const own = results.get(group);
  if (own === undefined) results.set(group, [result]);
  else own.push(result);
}

/** @param number the block's: who joined after it is not told */
function deliverResults(results: ReadonlyMap<LogFilterGroup, readonly string[]>, number: number): void {
  for (const [{ listeners }, own] of results)
    for (const [listener, since] of listeners) if (since < number) listener.deliver(own);
}
