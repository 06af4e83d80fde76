import { setTimeout as sleep } from 'node:timers/promises';
import type { Header } from '../../heads/header.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import type { UpstreamResponse, ResultResponse, ErrorResponse } from '../../upstreams/transport/upstream-response.ts';
import type { Log } from './log-filter.ts';
import { LogsBloom } from './logs-bloom.ts';

/** Part of `RangePart` in routing/. */
export interface AskedUpstreams {
  readonly first: undefined;
  readonly hasSkipped: boolean;
  allows(upstream: object): boolean;
  refused(): void;
  failed(): void;
  returned(upstream: object): void;
}

/** The part of the upstreams that log requests use. */
export interface LogSource {
  /** @param asked which upstreams may be asked, and which one was */
  request(
    method: MethodSpec,
    params: readonly unknown[],
    deadline: number,
    asked?: AskedUpstreams,
  ): Promise<UpstreamResponse>;
}

const REQUEST_TIMEOUT_MS = 10_000;
const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 2_000;
/** After 10 lists that differ from the bloom filter of one block, about 10 s, the network's bloom filters are ignored. */
const MAX_DIFFERENCES = 10;
/**
 * Number of blocks whose logs must match their bloom filter before a bloom filter may replace a request for logs. Every
 * few minutes, a Polygon block has logs outside its bloom filter (state syncs: bor, eth/filters/bor_filter.go).
 */
const REQUIRED_BLOOM_MATCHES = 256;

/** Fetches all logs of single blocks from the network's upstreams. */
export class BlockLogs {
  readonly #request: LogSource['request'];
  readonly #method: MethodSpec;
  #bloomMatches = 0;
  #isBloomWrong = false;

  /** @param method the method that requests logs */
  constructor(request: LogSource['request'], method: MethodSpec) {
    this.#request = request;
    this.#method = method;
  }

  /** Whether a bloom filter without a match means that the block has no matching logs. */
  canUse(bloom: LogsBloom): boolean {
    return !this.#isBloomWrong && !bloom.isEmpty && this.#bloomMatches >= REQUIRED_BLOOM_MATCHES;
  }

  /** Whether the bloom filters of this chain were found to differ from its logs, so that they check nothing. */
  get isBloomWrong(): boolean {
    return this.#isBloomWrong;
  }

  /**
   * Retries until an upstream returns the logs that the header's bloom filter has. On a difference, another upstream is asked:
   * two that agree are right, and the chain's bloom filters wrong (zkSync nodes set no bit). An empty list is no sign of that,
   * because nodes behind a load balancer may return it for a block that they do not have yet.
   * @param isNeeded false ends it with an empty list  Never rejects.
   */
  async logsOf(header: Header, isNeeded: () => boolean): Promise<readonly Log[]> {
    const bloom = new LogsBloom(header.block['logsBloom']);
    const offers = new Offers();
    for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(2 * delayMs, MAX_RETRY_MS)) {
      const logs = await this.#fetch(header.hash, offers);
      if (!isNeeded()) return [];
      if (logs !== undefined && (this.#isBloomWrong || bloom.equals(logs))) {
        if (logs.length > 0) this.#bloomMatches++;
        return logs;
      }
      const accepted = logs === undefined ? offers.acceptWithoutOther(bloom) : offers.add(logs);
      if (accepted !== undefined) {
        this.#isBloomWrong = true;
        return accepted;
      }
      // Another upstream is asked at once.
      if (logs === undefined || !offers.hasNew) await sleep(delayMs, undefined, { ref: false });
    }
  }

  /** Undefined: the attempt failed. */
  async #fetch(blockHash: string, offers: Offers): Promise<readonly Log[] | undefined> {
    try {
      const response = parseResponse(
        await this.#request(this.#method, [{ blockHash }], performance.now() + REQUEST_TIMEOUT_MS, offers),
      );
      if (response.kind === 'error' || !Array.isArray(response.result)) return undefined;
      const logs = response.result.map(parseLog);
      return logs.includes(undefined) ? undefined : (logs as Log[]);
    } catch {
      // The router has counted and logged the upstream failures.
      return undefined;
    }
  }
}

/** The lists of one block that differ from its bloom filter, by upstream. Upstreams that have offered one are not asked again. */
class Offers implements AskedUpstreams {
  readonly first = undefined;
  readonly hasSkipped = false;
  /** The last list is of an upstream that had offered none. */
  hasNew = false;
  readonly #lists = new Map<object | undefined, readonly Log[]>();
  readonly #excluded = new Set<object>();
  #returnedBy: object | undefined;
  #count = 0;

  allows(upstream: object): boolean {
    return !this.#excluded.has(upstream);
  }

  refused(): void {
    // Another upstream is asked.
  }

  failed(): void {
    // Another upstream is asked.
  }

  returned(upstream: object): void {
    this.#returnedBy = upstream;
  }

  /** @returns the logs on which two upstreams agree, or the longest list after too many; undefined: neither */
  add(logs: readonly Log[]): readonly Log[] | undefined {
    const upstream = this.#returnedBy;
    const others = [...this.#lists].filter(([other]) => other !== upstream);
    this.hasNew = upstream !== undefined && !this.#lists.has(upstream);
    this.#lists.set(upstream, logs);
    if (upstream !== undefined) this.#excluded.add(upstream);
    const text = JSON.stringify(logs.map(identityOf));
    const isAgreed = logs.length > 0 && others.some(([, list]) => JSON.stringify(list.map(identityOf)) === text);
    return isAgreed ? logs : ++this.#count >= MAX_DIFFERENCES ? this.#longest : undefined;
  }

  /** No other upstream has returned logs. @returns those of the only one if they are more than the bloom filter has */
  acceptWithoutOther(bloom: LogsBloom): readonly Log[] | undefined {
    const [only] = this.#lists.values();
    const hasMore = this.#excluded.size > 0 && only?.every((log) => bloom.mayContain(log)) === false;
    this.#excluded.clear();
    return hasMore && this.#lists.size === 1 ? only : undefined;
  }

  get #longest(): readonly Log[] {
    return [...this.#lists.values()].reduce((one, other) => (other.length > one.length ? other : one), []);
  }
}

/** Upstreams may differ in other members. */
function identityOf(log: Log): unknown {
  const { address, topics, data, logIndex } = log as Log & Readonly<Record<string, unknown>>;
  return [address, topics, data, logIndex];
}

function parseResponse(response: UpstreamResponse): ResultResponse | ErrorResponse {
  return response.kind === 'large' ? response.parse() : response;
}

/** Converts address and topics to lower case, because filters compare them as text. */
function parseLog(value: unknown): Log | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { address, topics } = value as Record<string, unknown>;
  if (typeof address !== 'string' || !Array.isArray(topics) || !topics.every((topic) => typeof topic === 'string'))
    return undefined;
  return { ...value, address: address.toLowerCase(), topics: topics.map((topic) => topic.toLowerCase()) };
}
