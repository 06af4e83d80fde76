import { setTimeout as sleep } from 'node:timers/promises';
import type { Header } from '../../heads/header.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import type { UpstreamResponse, ResultResponse, ErrorResponse } from '../../upstreams/transport/upstream-response.ts';
import type { Log } from './log-filter.ts';
import { LogsBloom } from './logs-bloom.ts';

/** The part of the upstreams that log requests use. */
export interface LogSource {
  request(method: MethodSpec, params: readonly unknown[], deadline: number): Promise<UpstreamResponse>;
}

const REQUEST_TIMEOUT_MS = 10_000;
const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 2_000;
/** After 10 empty lists for one block, about 10 s, the network's bloom filters are ignored. */
const MAX_EMPTY_RESULTS = 10;
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

  /** Retries until an upstream returns the logs. @param isNeeded false ends it with an empty list  Never rejects. */
  async logsOf(header: Header, isNeeded: () => boolean): Promise<readonly Log[]> {
    const bloom = new LogsBloom(header.block['logsBloom']);
    let emptyResults = 0;
    for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(2 * delayMs, MAX_RETRY_MS)) {
      const logs = await this.#fetch(header.hash);
      if (!isNeeded()) return [];
      // A node behind a load balancer may return an empty list for a block that it does not have yet.
      const isSuspicious =
        logs?.length === 0 && !bloom.isEmpty && !this.#isBloomWrong && ++emptyResults < MAX_EMPTY_RESULTS;
      if (logs !== undefined && !isSuspicious) {
        this.#checkBloom(bloom, logs);
        return logs;
      }
      await sleep(delayMs, undefined, { ref: false });
    }
  }

  /** Undefined: the attempt failed. */
  async #fetch(blockHash: string): Promise<readonly Log[] | undefined> {
    try {
      const response = parseResponse(
        await this.#request(this.#method, [{ blockHash }], performance.now() + REQUEST_TIMEOUT_MS),
      );
      if (response.kind === 'error' || !Array.isArray(response.result)) return undefined;
      const logs = response.result.map(parseLog);
      return logs.includes(undefined) ? undefined : (logs as Log[]);
    } catch {
      // The router has counted and logged the upstream failures.
      return undefined;
    }
  }

  #checkBloom(bloom: LogsBloom, logs: readonly Log[]): void {
    if (this.#isBloomWrong || (bloom.isEmpty && logs.length === 0)) return;
    if (logs.length > 0 && logs.every((log) => bloom.mayContain(log))) this.#bloomMatches++;
    else this.#isBloomWrong = true;
  }
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
