import { clock } from '../../clock/clock.ts';
import { OwnedSteps } from '../../event-loop/owned-steps.ts';
import { isHash, type Header } from '../../chain/header.ts';
import type { RangePart } from '../../upstreams/range-part.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import { parseResponse, type UpstreamResponse } from '../../upstreams/transport/upstream-response.ts';
import type { EventLog } from '../../chain/logs/log-filter.ts';
import { LogsBloom, type BloomDifference } from '../../chain/logs/logs-bloom.ts';

/** The part of the upstreams that log requests use. */
export interface LogSource {
  /** @param part the upstreams that may get the request; it learns which one returned the response */
  request(
    method: MethodSpec,
    params: readonly unknown[],
    deadline: number,
    part?: RangePart,
  ): Promise<UpstreamResponse>;
}

const REQUEST_TIMEOUT_MS = 10_000;
const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 2_000;
/** Time after which a block is given up if no upstream returns its logs. */
const MAX_WAIT_MS = 60_000;
/** Time after which the longest list of a block is accepted if all differ from its bloom filter. Later blocks wait for it. */
const MAX_DIFFERENCE_MS = 3_000;
/** Blocks in a row, without one that matches, after which the bloom filters are ignored, or a block is accepted at once. */
const MAX_DIFFERENT_BLOCKS = 3;
/** The bloom filters of a chain are ignored for this time, then checked again. */
const CHECK_OFF_MS = 600_000;
const ADDRESS = /^0x[0-9a-f]{40}$/i;
const MAX_TOPICS = 4;
/**
 * Number of blocks whose logs must match their bloom filter before a bloom filter may replace a request for logs. Every
 * few minutes, a Polygon block has logs outside its bloom filter (state syncs: bor, eth/filters/bor_filter.go).
 */
const REQUIRED_BLOOM_MATCHES = 256;

/** Fetches all logs of single blocks from the network's upstreams. */
export class BlockLogs {
  readonly #request: LogSource['request'];
  readonly #method: MethodSpec;
  readonly #owner: string;
  #bloomMatches = 0;
  /** A bloom filter of the chain was found to be wrong, so that none replaces a request. */
  #wasBloomWrong = false;
  /** The bloom filters are ignored until then. */
  #checkOffUntil = -Infinity;
  /** Blocks since the last one that matched: two upstreams agreed on other logs than those of the bloom filter. */
  #agreedBlocks = 0;
  /** Blocks since the last one that matched: the longest list was accepted. */
  #unresolvedBlocks = 0;

  /**
   * @param method the method that requests logs
   * @param owner whose event-loop time the check is
   */
  constructor(request: LogSource['request'], method: MethodSpec, owner: string) {
    this.#request = request;
    this.#method = method;
    this.#owner = owner;
  }

  /** Whether a bloom filter without a match means that the block has no matching logs. */
  canUse(bloom: LogsBloom): boolean {
    return !this.#wasBloomWrong && !bloom.isEmpty && this.#bloomMatches >= REQUIRED_BLOOM_MATCHES;
  }

  /** Whether the bloom filters of this chain were found to differ from its logs, so that they check nothing for a while. */
  get isBloomWrong(): boolean {
    return clock.now() < this.#checkOffUntil;
  }

  /**
   * Retries until an upstream returns the logs that the header's bloom filter has. On a difference, another upstream is asked.
   * The filters of the chain are wrong if they lack bits of its logs (zkSync nodes set none), or if two upstreams agree on
   * other logs of several blocks. An empty list is no sign of that, because nodes behind a load balancer may return it for a
   * block that they do not have yet. One upstream alone cannot show that logs are missing: its list is accepted for the block.
   * @param isNeeded false ends it with an empty list  Never rejects.
   * @returns undefined if no upstream returns the logs within a minute
   */
  async logsOf(header: Header, isNeeded: () => boolean): Promise<readonly EventLog[] | undefined> {
    const givenUpAt = clock.now() + MAX_WAIT_MS;
    const bloom = new LogsBloom(header.block['logsBloom']);
    const offers = new Offers();
    for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(2 * delayMs, MAX_RETRY_MS)) {
      const logs = await this.#fetch(header.hash, offers);
      if (!isNeeded()) return [];
      if (logs !== undefined && this.isBloomWrong) return logs;
      const difference = logs && (await this.#compare(bloom, logs));
      if (logs !== undefined && difference === 'none') {
        if (logs.length > 0) {
          this.#bloomMatches++;
          this.#agreedBlocks = this.#unresolvedBlocks = 0;
        }
        return logs;
      }
      const accepted =
        logs === undefined || difference === undefined ? offers.acceptWithoutOther() : offers.add(logs, difference);
      if (accepted !== undefined) {
        this.#recordDifference(accepted.because);
        return accepted.logs;
      }
      if (clock.now() >= givenUpAt) return undefined;
      if (this.#unresolvedBlocks >= MAX_DIFFERENT_BLOCKS) offers.hurry();
      // Another upstream is asked at once.
      if (logs === undefined || !offers.hasNew) await clock.sleep(delayMs, { ref: false });
    }
  }

  async #compare(bloom: LogsBloom, logs: readonly EventLog[]): Promise<BloomDifference> {
    const steps = new OwnedSteps(this.#owner);
    const difference = await bloom.compare(logs, steps);
    steps.charge();
    return difference;
  }

  #recordDifference(because: Accepted['because']): void {
    if (because === 'agreed') this.#agreedBlocks++;
    if (because === 'unresolved') this.#unresolvedBlocks++;
    if (because !== 'has-more' && this.#agreedBlocks < MAX_DIFFERENT_BLOCKS) return;
    this.#agreedBlocks = 0;
    this.#wasBloomWrong = true;
    this.#checkOffUntil = clock.now() + CHECK_OFF_MS;
  }

  /** Logs of a block; undefined: the attempt failed. */
  async #fetch(blockHash: string, offers: Offers): Promise<readonly EventLog[] | undefined> {
    try {
      const response = parseResponse(
        await this.#request(this.#method, [{ blockHash }], clock.now() + offers.timeoutMs, offers),
      );
      if (response.kind === 'error' || !Array.isArray(response.result)) return undefined;
      const logs = response.result.map(parseLog);
      if (!logs.includes(undefined)) return logs as EventLog[];
      offers.exclude();
      return undefined;
    } catch {
      // The router has counted and logged the upstream failures.
      return undefined;
    }
  }
}

interface Accepted {
  readonly logs: readonly EventLog[];
  /** Why they are accepted although they differ from the bloom filter. Unresolved: no list of the block was better. */
  readonly because: 'agreed' | 'has-more' | 'unresolved';
}

interface Offer {
  readonly logs: readonly EventLog[];
  readonly difference: BloomDifference;
}

/** The lists of one block that differ from its bloom filter, by upstream. Upstreams that have offered one are not asked again. */
class Offers implements RangePart {
  /** The last list is of an upstream that had offered none. */
  hasNew = false;
  readonly #offers = new Map<object | undefined, Offer>();
  readonly #excluded = new Set<object>();
  #returnedBy: object | undefined;
  #until: number | undefined;
  /** The last response was no list of logs, so that another upstream may still return one. */
  #wasInvalid = false;

  allows(upstream: object): boolean {
    return !this.#excluded.has(upstream);
  }

  returned(upstream: object): void {
    this.#returnedBy = upstream;
  }

  /** The upstream that was asked last returned what is no list of logs: it is not asked next. */
  exclude(): void {
    if (this.#returnedBy !== undefined) this.#excluded.add(this.#returnedBy);
    this.#wasInvalid = true;
  }

  /** Time limit of the next request: those of later blocks wait for it. */
  get timeoutMs(): number {
    if (this.#until === undefined) return REQUEST_TIMEOUT_MS;
    return Math.max(FIRST_RETRY_MS, this.#until - clock.now());
  }

  /** No list is waited for: the other upstreams are asked once more. */
  hurry(): void {
    if (this.#until !== undefined) this.#until = Math.min(this.#until, clock.now() + FIRST_RETRY_MS);
  }

  /** @returns the logs on which two upstreams agree, or the longest list after some time; undefined: neither */
  add(logs: readonly EventLog[], difference: BloomDifference): Accepted | undefined {
    const upstream = this.#returnedBy;
    const others = [...this.#offers].filter(([other]) => other !== upstream);
    this.hasNew = upstream !== undefined && !this.#offers.has(upstream);
    this.#offers.set(upstream, { logs, difference });
    this.#until ??= clock.now() + MAX_DIFFERENCE_MS;
    if (upstream !== undefined) this.#excluded.add(upstream);
    const text = JSON.stringify(logs.map(identityOf));
    const isAgreed = logs.length > 0 && others.some(([, other]) => JSON.stringify(other.logs.map(identityOf)) === text);
    return isAgreed ? { logs, because: difference === 'has-more' ? difference : 'agreed' } : this.#acceptLongest();
  }

  /** No other upstream has returned logs. @returns those of the only one if they are more than the bloom filter has */
  acceptWithoutOther(): Accepted | undefined {
    const mayHaveOther = this.#wasInvalid;
    this.#wasInvalid = false;
    if (mayHaveOther) return this.#acceptLongest();
    const [only] = this.#offers.values();
    const hasMore = this.#excluded.size > 0 && this.#offers.size === 1 && only?.difference === 'has-more';
    this.#excluded.clear();
    return hasMore ? { logs: only.logs, because: 'has-more' } : this.#acceptLongest();
  }

  #acceptLongest(): Accepted | undefined {
    if (this.#until === undefined || clock.now() < this.#until) return undefined;
    const lists = [...this.#offers.values()].map(({ logs }) => logs);
    const logs = lists.reduce((one, other) => (other.length > one.length ? other : one), []);
    return { logs, because: 'unresolved' };
  }
}

/** Upstreams may differ in other members. */
function identityOf(log: EventLog): unknown {
  const { address, topics, data, logIndex } = log as EventLog & Readonly<Record<string, unknown>>;
  return [address, topics, data, logIndex];
}

/** Converts address and topics to lower case, because filters compare them as text. */
function parseLog(value: unknown): EventLog | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { address, topics } = value as Record<string, unknown>;
  if (typeof address !== 'string' || !ADDRESS.test(address)) return undefined;
  if (!Array.isArray(topics) || topics.length > MAX_TOPICS || !topics.every(isHash)) return undefined;
  return { ...value, address: address.toLowerCase(), topics: topics.map((topic) => topic.toLowerCase()) };
}
