import { blocksAbove, includes, type DayBlock } from '../day/day-block.ts';
import type { DaySubscriber } from './day-subscriber.ts';

/** What a subscriber missed, got twice, or was left with. */
export interface Losses {
  readonly doubled: number;
  readonly missing: number;
  readonly stale: number;
}

/** What all subscribers of a chain have to get, from the block after which they subscribed. */
export class ExpectedDay {
  /** Identities of logs by block, as the node had them when the block was built. */
  readonly logs = new Map<DayBlock, readonly string[]>();
  /** Hashes of transactions that were sent while the node was not restarted. */
  readonly pending = new Set<string>();
  readonly #start: DayBlock;

  constructor(start: DayBlock) {
    this.#start = start;
  }

  /** @param head of the chain */
  lossesOf(subscriber: DaySubscriber, head: DayBlock): Losses {
    const { heads, logs, removed, pending } = subscriber;
    const blocks = blocksAbove(head, this.#start.number);
    const expectedLogs = blocks.flatMap((block) => this.logs.get(block) ?? []);
    const remaining = new Set(expectedLogs);
    const staleLogs = [...logs.keys()].filter((log) => !remaining.has(log) && !removed.has(log));
    // A removed log of the chain is lost for the subscriber.
    const missingLogs = expectedLogs.filter((log) => !logs.has(log) || removed.has(log));
    return {
      doubled: [heads, logs, removed, pending].reduce((sum, counts) => sum + repeated(counts), 0),
      missing:
        missingLogs.length +
        blocks.filter(({ hash }) => !heads.has(hash)).length +
        [...this.pending].filter((hash) => !pending.has(hash)).length,
      stale: staleLogs.length + (subscriber.newestHead === head.hash ? 0 : 1),
    };
  }

  /** The logs of blocks that the chain replaced. */
  removedLogs(head: DayBlock): string[] {
    return [...this.logs].filter(([block]) => !includes(head, block)).flatMap(([, logs]) => logs);
  }
}

function repeated(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, times) => sum + times - 1, 0);
}
