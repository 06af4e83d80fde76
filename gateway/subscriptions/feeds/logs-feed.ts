import { OwnedSteps } from '../../event-loop/owned-steps.ts';
import type { ChainChange } from '../../chain/header-ring.ts';
import type { WatchedChain } from '../../chain/poller.ts';
import type { Header } from '../../chain/header.ts';
import type { BlockLogs } from './block-logs.ts';
import type { Unsubscribe, Subscriber } from './subscriber.ts';
import type { EventLog, LogFilter } from '../../chain/logs/log-filter.ts';
import { LogFilterGroups, type LogFilterGroup } from './log-filter-groups.ts';
import { LogsBloom } from '../../chain/logs/logs-bloom.ts';
import { DeliveredLogs } from './delivered-logs.ts';
import { fanOut } from './fan-out.ts';

/** Concurrent log requests, one for each block. Delivery keeps the order of blocks. */
const MAX_CONCURRENT_FETCHES = 8;
/** Limit of blocks that wait for their logs. Above it, all subscribers get a gap. */
const MAX_WAITING_BLOCKS = 1_000;

/** An added or removed block that is not delivered yet. */
type BlockChange = Added | { readonly removed: string };

interface Added {
  readonly header: Header;
  /** Counts the blocks added since the feed was created; not the block number of the chain. */
  readonly number: number;
  /** Resolves with undefined if no upstream returns them. */
  logs: Promise<readonly EventLog[] | undefined> | undefined;
  isCancelled: boolean;
}

/**
 * Delivers the logs of each new block, fetched once for all subscribers. When a reorg removes a block, it delivers the
 * block's logs again with `removed: true`, newest first. (geth delivers them oldest first, and calls that borked in
 * core/blockchain.go.) A subscriber gets only blocks that were added after it joined, and removals of those blocks.
 */
export class LogsFeed {
  readonly #chain: Pick<WatchedChain, 'watch'>;
  readonly #blockLogs: BlockLogs;
  readonly #owner: string;
  readonly #filters = new LogFilterGroups();
  readonly #steps: BlockChange[] = [];
  #delivered = new DeliveredLogs();
  #addedBlocks = 0;
  #isDelivering = false;
  #delivery: Promise<void> | undefined;
  #stopWatching: Unsubscribe | undefined;

  /** @param owner whose event-loop time it is to find the filters of a log */
  constructor(chain: Pick<WatchedChain, 'watch'>, blockLogs: BlockLogs, owner: string) {
    this.#chain = chain;
    this.#blockLogs = blockLogs;
    this.#owner = owner;
  }

  join(filter: LogFilter, subscriber: Subscriber): Unsubscribe {
    const unsubscribe = this.#filters.add(filter, subscriber, this.#addedBlocks);
    this.#stopWatching ??= this.#chain.watch((change) => {
      this.#handleChange(change);
    });
    return () => {
      unsubscribe();
      if (this.#filters.size === 0) this.#stop();
    };
  }

  #handleChange({ removed, added, hasGap, isOtherChain }: ChainChange): void {
    if (hasGap === true) {
      this.#reportGap(isOtherChain === true ? 'other-chain' : 'missed-blocks');
      return;
    }
    for (const { hash } of removed) this.#handleRemoved(hash);
    for (const header of added) {
      this.#steps.push({ header, number: ++this.#addedBlocks, logs: undefined, isCancelled: false });
    }
    if (this.#steps.length > MAX_WAITING_BLOCKS) this.#reportGap();
    else this.#startDelivery();
  }

  /**
   * A block whose delivery has not begun is only cancelled. Waiting blocks are newer than delivered ones, so it is the last.
   */
  #handleRemoved(hash: string): void {
    const last = this.#steps.at(-1);
    if (last !== undefined && 'header' in last && last.header.hash === hash) {
      last.isCancelled = true;
      this.#steps.pop();
    } else this.#steps.push({ removed: hash });
  }

  /** Resolves when all blocks are delivered. Undefined: they are. */
  get delivery(): Promise<void> | undefined {
    return this.#isDelivering ? this.#delivery : undefined;
  }

  #startDelivery(): void {
    this.#startFetches();
    if (!this.#isDelivering) this.#delivery = this.#deliverAll();
  }

  /** Delivers all steps in order. Never rejects. */
  async #deliverAll(): Promise<void> {
    this.#isDelivering = true;
    for (let step = this.#steps[0]; step !== undefined; step = this.#steps[0]) {
      const logs = 'removed' in step ? [] : await (step.logs ??= this.#logsOf(step));
      // The block was removed, or the feed was reset, in the meantime.
      if (step !== this.#steps[0]) continue;
      if (logs === undefined) {
        this.#reportGap();
        continue;
      }
      // From now on, the removal of the block is a step of its own.
      this.#steps.shift();
      this.#startFetches();
      if ('removed' in step) await this.#deliverRemoved(step.removed);
      else await this.#deliverAdded(step, logs);
    }
    this.#isDelivering = false;
  }

  #startFetches(): void {
    for (const step of this.#steps.slice(0, MAX_CONCURRENT_FETCHES))
      if ('header' in step) step.logs ??= this.#logsOf(step);
  }

  #logsOf(step: Added): Promise<readonly EventLog[] | undefined> {
    const bloom = new LogsBloom(step.header.block['logsBloom']);
    if (this.#blockLogs.canUse(bloom) && !this.#filters.mayMatch(bloom)) return Promise.resolve([]);
    return this.#blockLogs.logsOf(step.header, () => !step.isCancelled);
  }

  async #deliverAdded({ header, number }: Added, logs: readonly EventLog[]): Promise<void> {
    const delivered = this.#delivered;
    const results = new Map<LogFilterGroup, string[]>();
    const sent: string[] = [];
    const steps = new OwnedSteps(this.#owner);
    for (const log of logs) {
      const result = await this.#addMatching(results, log, { block: header.number, removed: false, steps });
      if (result !== undefined) sent.push(result);
    }
    steps.charge();
    // The feed was reset in the meantime.
    if (delivered !== this.#delivered) return;
    delivered.add(header, number, sent);
    deliverResults(results, number);
  }

  /** Adds a log to the results of all filters that it matches. @returns its result. Undefined: it matches none */
  async #addMatching(
    results: Map<LogFilterGroup, string[]>,
    log: EventLog,
    { block, removed, steps }: { readonly block: bigint; readonly removed: boolean; readonly steps: OwnedSteps },
  ): Promise<string | undefined> {
    let result: string | undefined;
    for (const group of this.#filters.matching(log, block)) {
      if (group !== undefined) addResult(results, group, (result ??= JSON.stringify({ ...log, removed })));
      const pause = steps.afterSlice();
      if (pause !== undefined) await pause;
    }
    const pause = steps.afterSlice();
    if (pause !== undefined) await pause;
    return result;
  }

  async #deliverRemoved(hash: string): Promise<void> {
    const block = this.#delivered.remove(hash);
    // The block was added before the first subscriber joined.
    if (block === undefined) return;
    if (block.results === undefined) {
      this.#reportGap();
      return;
    }
    const results = new Map<LogFilterGroup, string[]>();
    const delivered = this.#delivered;
    const steps = new OwnedSteps(this.#owner);
    for (const text of block.results.toReversed())
      await this.#addMatching(results, JSON.parse(text) as EventLog, {
        block: block.header.number,
        removed: true,
        steps,
      });
    steps.charge();
    if (delivered === this.#delivered) deliverResults(results, block.number);
  }

  #reportGap(reason: 'missed-blocks' | 'other-chain' = 'missed-blocks'): void {
    for (const subscriber of this.#filters.subscribers()) subscriber.markGap(reason);
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

/** @param number of the block; subscribers that joined after it get nothing */
function deliverResults(results: ReadonlyMap<LogFilterGroup, readonly string[]>, number: number): void {
  for (const [{ subscribers }, own] of results)
    for (const [subscriber, since] of subscribers) if (since < number) fanOut.deliver(subscriber, own, number);
}
