import { identityIn, identityOf } from './check-logs.ts';
import type { ConsistencyChecker } from './consistency-checker.ts';
import { describe } from './delivered-heads.ts';
import { includes, logsOf, type TrueBlock } from './true-chain.ts';

/** Checks the logs of one subscription or log filter: each once, in order, removed only if its block was replaced. */
export class DeliveredLogs {
  readonly #checker: ConsistencyChecker;
  readonly #of: string;
  readonly #address: string | undefined;
  /** Time when the subscription was confirmed. */
  readonly #startedAt: number;
  /** Delivered logs that were not removed, by block. */
  readonly #delivered = new Map<TrueBlock, Set<string>>();

  /** @param address undefined: of all addresses */
  constructor(checker: ConsistencyChecker, of: string, at: number, address?: string) {
    this.#checker = checker;
    this.#of = of;
    this.#address = address;
    this.#startedAt = at;
  }

  add(log: Readonly<Record<string, unknown>>, at: number): void {
    const { history } = this.#checker;
    const block = history.blocks.get(String(log['blockHash']));
    const identity = identityIn(log);
    if (block === undefined || !logsOf(block, this.#address).some((one) => identityOf(one) === identity)) {
      this.#violate('wrong', at, 'a log of the filter', identity);
    } else if (log['removed'] === true) this.#remove(block, identity, at);
    else {
      this.#checker.recordDelivered(block, at);
      this.#deliver(block, identity, at);
    }
  }

  /** Whether all logs of the block, or of the newest one below that has logs, are delivered. */
  has(newest: TrueBlock, at: number): boolean {
    const startedAbove = this.#checker.history.deliveredAbove(this.#startedAt, newest, at);
    for (let block = newest; block.parent !== undefined && block.number > startedAbove; block = block.parent) {
      const logs = logsOf(block, this.#address);
      if (logs.length > 0) return logs.every((log) => this.#delivered.get(block)?.has(identityOf(log)) === true);
    }
    return true;
  }

  /** Check at the end of the run, when all nodes have been healthy for a while. @param newest its logs must be delivered */
  finish(newest: TrueBlock, at: number): void {
    this.#checkUpTo(newest, at);
  }

  #remove(block: TrueBlock, identity: string, at: number): void {
    const logs = this.#delivered.get(block);
    if (logs?.delete(identity) !== true) this.#violate('removed', at, 'a delivered log', describe(block));
    else if (!this.#wasReplaced(block, at)) this.#violate('removed', at, 'nothing', describe(block));
    if (logs?.size === 0) this.#delivered.delete(block);
  }

  #deliver(block: TrueBlock, identity: string, at: number): void {
    const logs = this.#delivered.get(block);
    if (logs?.has(identity) === true) {
      this.#violate('log-twice', at, 'each log once', describe(block));
      return;
    }
    if (logs !== undefined) {
      logs.add(identity);
      return;
    }
    for (const other of [...this.#delivered.keys()]) {
      if (includes(block, other)) continue;
      this.#violate('not-removed', at, `removal of the logs of ${describe(other)}`, `logs of ${describe(block)}`);
      this.#delivered.delete(other);
    }
    if (block.parent !== undefined) this.#checkUpTo(block.parent, at);
    this.#delivered.set(block, new Set([identity]));
  }

  /** Checks that all logs of a branch above the start of the subscription are delivered. Each gap is reported once. */
  #checkUpTo(head: TrueBlock, at: number): void {
    const startedAbove = this.#checker.history.deliveredAbove(this.#startedAt, head, at);
    for (let block: TrueBlock | undefined = head; block !== undefined; block = block.parent) {
      if (block.number <= startedAbove) return;
      const expected = logsOf(block, this.#address).map(identityOf);
      const delivered = this.#delivered.get(block);
      const missing = expected.filter((identity) => delivered?.has(identity) !== true);
      if (missing.length > 0) {
        this.#violate('log-missing', at, `${expected.length} logs of ${describe(block)}`, `all but ${missing.length}`);
        this.#delivered.set(block, new Set(expected));
      } else if (expected.length > 0) return;
    }
  }

  #wasReplaced(block: TrueBlock, at: number): boolean {
    return !this.#checker.history.isCanonical(block, at, at) || this.#checker.history.hasRival(block, at, at);
  }

  #violate(
    kind: 'wrong' | 'removed' | 'not-removed' | 'log-twice' | 'log-missing',
    at: number,
    expected: string,
    came: string,
  ): void {
    const seconds = ((at - this.#startedAt) / 1_000).toFixed(1);
    this.#checker.violate(kind, { at, of: `${this.#of} (${seconds} s after its start)` }, expected, came);
  }
}
