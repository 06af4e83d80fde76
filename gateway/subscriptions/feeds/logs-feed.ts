import { OwnedSteps } from '../../event-loop/owned-steps.ts';
import type { WatchedChain } from '../../chain/poller.ts';
import type { Header } from '../../chain/header.ts';
import type { BlockLogs } from './block-logs.ts';
import type { Unsubscribe, Subscriber } from './subscriber.ts';
import type { EventLog, LogFilter } from '../../chain/logs/log-filter.ts';
import { LogFilterGroups, type LogFilterGroup } from './log-filter-groups.ts';
import { LogsBloom } from '../../chain/logs/logs-bloom.ts';
import { BlockFeed, type AddedBlock } from './block-feed.ts';
import { DeliveredLogs } from './delivered-logs.ts';
import { fanOut } from './fan-out.ts';

/** Blocks whose logs are requested at the same time, each with one request. */
const MAX_CONCURRENT_FETCHES = 8;

/**
 * Delivers the logs of each new block. When a reorg removes a block, it delivers the block's logs again with `removed: true`,
 * newest first. (geth delivers them oldest first, and calls that borked in core/blockchain.go.)
 */
export class LogsFeed extends BlockFeed<readonly EventLog[]> {
  readonly #blockLogs: BlockLogs;
  readonly #owner: string;
  readonly #filters = new LogFilterGroups();
  #delivered = new DeliveredLogs();

  /** @param owner whose event-loop time it is to find the filters of a log */
  constructor(chain: Pick<WatchedChain, 'watch'>, blockLogs: BlockLogs, owner: string) {
    super(chain, MAX_CONCURRENT_FETCHES);
    this.#blockLogs = blockLogs;
    this.#owner = owner;
  }

  join(filter: LogFilter, subscriber: Subscriber): Unsubscribe {
    const leave = this.#filters.add(filter, subscriber, this.addedBlocks);
    return this.joined(() => {
      leave();
      return this.#filters.size;
    });
  }

  protected override subscribers(): Subscriber[] {
    return this.#filters.subscribers();
  }

  protected override fetch(header: Header, isNeeded: () => boolean): Promise<readonly EventLog[] | undefined> {
    const bloom = new LogsBloom(header.block['logsBloom']);
    if (this.#blockLogs.canUse(bloom) && !this.#filters.mayMatch(bloom)) return Promise.resolve([]);
    return this.#blockLogs.logsOf(header, isNeeded);
  }

  protected override async deliver({ header, number }: AddedBlock, logs: readonly EventLog[]): Promise<void> {
    const delivered = this.#delivered;
    const sent = await this.#deliverMatching(logs, header.number, number, false);
    if (delivered === this.#delivered) delivered.add(header, number, sent);
  }

  protected override async deliverRemoved(hash: string): Promise<boolean> {
    const block = this.#delivered.remove(hash);
    // The block was added before the first subscriber joined.
    if (block === undefined) return true;
    if (block.results === undefined) return false;
    await this.#deliverMatching(parseNewestFirst(block.results), block.header.number, block.number, true);
    return true;
  }

  protected override reset(): void {
    super.reset();
    this.#delivered = new DeliveredLogs();
  }

  /**
   * Delivers logs of a block to the subscribers of each filter that they match, unless the feed is reset meanwhile.
   * @param number of the block in the feed; subscribers that joined after it get nothing
   * @returns the texts of those that match a filter
   */
  async #deliverMatching(logs: Iterable<EventLog>, block: bigint, number: number, removed: boolean): Promise<string[]> {
    const delivered = this.#delivered;
    const results = new Map<LogFilterGroup, string[]>();
    const sent: string[] = [];
    const steps = new OwnedSteps(this.#owner);
    for (const log of logs) {
      let text: string | undefined;
      for (const group of this.#filters.matching(log, block)) {
        if (group !== undefined) {
          text ??= JSON.stringify({ ...log, removed });
          const own = results.get(group);
          if (own === undefined) results.set(group, [text]);
          else own.push(text);
        }
        const pause = steps.afterSlice();
        if (pause !== undefined) await pause;
      }
      if (text !== undefined) sent.push(text);
      const pause = steps.afterSlice();
      if (pause !== undefined) await pause;
    }
    steps.charge();
    if (delivered !== this.#delivered) return sent;
    for (const [{ subscribers }, own] of results)
      for (const [subscriber, since] of subscribers) if (since < number) fanOut.deliver(subscriber, own, number);
    return sent;
  }
}

/** Logs of these texts. Each one is parsed when it is read, in the time of its owner. */
function* parseNewestFirst(texts: readonly string[]): Iterable<EventLog> {
  for (const text of texts.toReversed()) yield JSON.parse(text) as EventLog;
}
