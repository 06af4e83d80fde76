import type { CanonicalChain, ChainChange } from '../heads/canonical-chain.ts';
import type { Header } from '../heads/header.ts';
import type { BlockLogs } from './block-logs.ts';
import type { Leave, Listener } from './listener.ts';
import type { Log, LogFilter } from './log-filter.ts';
import { LogGroups, type LogGroup } from './log-groups.ts';
import { LogsBloom } from './logs-bloom.ts';
import { SentLogs } from './sent-logs.ts';

/** Blocks whose logs are asked for at once; they are told in order all the same. */
const FETCHES_MAX = 8;
/** Blocks that may wait for their logs. Whoever is so far behind is told that there is a gap. */
const WAITING_MAX = 1_000;

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
  readonly #groups = new LogGroups();
  readonly #steps: Step[] = [];
  #sent = new SentLogs();
  #number = 0;
  #isTelling = false;
  #unwatch: Leave | undefined;

  constructor(chain: CanonicalChain, blockLogs: BlockLogs) {
    this.#chain = chain;
    this.#blockLogs = blockLogs;
  }

  join(filter: LogFilter, listener: Listener): Leave {
    const leave = this.#groups.add(filter, listener, this.#number);
    this.#unwatch ??= this.#chain.watch((change) => {
      this.#changed(change);
    });
    return () => {
      leave();
      if (this.#groups.size === 0) this.#end();
    };
  }

  #changed({ removed, added, isFresh }: ChainChange): void {
    if (isFresh === true) {
      this.#lose();
      return;
    }
    for (const { hash } of removed) this.#remove(hash);
    for (const header of added) {
      this.#steps.push({ header, number: ++this.#number, logs: undefined, isCancelled: false });
    }
    if (this.#steps.length > WAITING_MAX) this.#lose();
    else void this.#tellAll();
  }

  /** What was not told yet need not be taken back. All that waits is newer than what was told, and goes with it. */
  #remove(hash: string): void {
    const last = this.#steps.at(-1);
    if (last !== undefined && 'header' in last && last.header.hash === hash) {
      last.isCancelled = true;
      this.#steps.pop();
    } else this.#steps.push({ removed: hash });
  }

  /** One step after the other. Never rejects. */
  async #tellAll(): Promise<void> {
    this.#fetch();
    if (this.#isTelling) return;
    this.#isTelling = true;
    for (let step = this.#steps[0]; step !== undefined; step = this.#steps[0]) {
      if ('removed' in step) this.#tellRemoved(step.removed);
      else {
        const logs = await (step.logs ??= this.#logsOf(step));
        // Taken back, or lost, in the meantime.
        if (step !== this.#steps[0]) continue;
        this.#tellAdded(step, logs);
      }
      this.#steps.shift();
      this.#fetch();
    }
    this.#isTelling = false;
  }

  #fetch(): void {
    for (const step of this.#steps.slice(0, FETCHES_MAX)) if ('header' in step) step.logs ??= this.#logsOf(step);
  }

  #logsOf(step: Added): Promise<readonly Log[]> {
    const bloom = new LogsBloom(step.header.block['logsBloom']);
    if (this.#blockLogs.believes(bloom) && !this.#groups.mayWant(bloom)) return Promise.resolve([]);
    return this.#blockLogs.of(step.header, () => !step.isCancelled);
  }

  #tellAdded({ header, number }: Added, logs: readonly Log[]): void {
    const results = new Map<LogGroup, string[]>();
    const sent: string[] = [];
    for (const log of logs) {
      let result: string | undefined;
      for (const group of this.#groups.wanting(log, header.number)) {
        result ??= JSON.stringify({ ...log, removed: false });
        addTo(results, group, result);
      }
      if (result !== undefined) sent.push(result);
    }
    this.#sent.add(header, number, sent);
    tell(results, number);
  }

  #tellRemoved(hash: string): void {
    const block = this.#sent.take(hash);
    // Added before anybody listened.
    if (block === undefined) return;
    if (block.results === undefined) {
      this.#lose();
      return;
    }
    const results = new Map<LogGroup, string[]>();
    for (const text of block.results.toReversed()) {
      const log = JSON.parse(text) as Log;
      const result = JSON.stringify({ ...log, removed: true });
      for (const group of this.#groups.wanting(log, block.header.number)) addTo(results, group, result);
    }
    tell(results, block.number);
  }

  #lose(): void {
    for (const listener of this.#groups.listeners()) listener.lose();
    this.#forget();
  }

  #end(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#forget();
  }

  #forget(): void {
    for (const step of this.#steps) if ('header' in step) step.isCancelled = true;
    this.#steps.length = 0;
    this.#sent = new SentLogs();
  }
}

function addTo(results: Map<LogGroup, string[]>, group: LogGroup, result: string): void {
  const own = results.get(group);
  if (own === undefined) results.set(group, [result]);
  else own.push(result);
}

/** @param number the block's: who joined after it is not told */
function tell(results: ReadonlyMap<LogGroup, readonly string[]>, number: number): void {
  for (const [{ listeners }, own] of results)
    for (const [listener, since] of listeners) if (since < number) listener.tell(own);
}
