import { setTimeout as sleep } from 'node:timers/promises';
import type { Header } from '../../heads/header.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import type { UpstreamResponse, ResultResponse, ErrorResponse } from '../../upstreams/transport/upstream-response.ts';
import type { Log } from './log-filter.ts';
import { LogsBloom } from './logs-bloom.ts';

/** The upstreams of a network, as far as logs are asked of them. */
export interface LogSource {
  request(method: MethodSpec, params: readonly unknown[], deadline: number): Promise<UpstreamResponse>;
}

const REQUEST_TIMEOUT_MS = 10_000;
const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 2_000;
/** After so many empty lists, 10 s in all, the header's bloom filter is not believed any more. */
const MAX_EMPTY_RESULTS = 10;
/**
 * Blocks with logs that must have fitted their bloom filter before one is believed that says there is nothing of use.
 * Polygon's blocks have logs that are not in it (state syncs: bor, eth/filters/bor_filter.go), every few minutes.
 */
const REQUIRED_BLOOM_MATCHES = 256;

/** Gets all logs of one block after the other from a network's upstreams. */
export class BlockLogs {
  readonly #requestUpstreams: LogSource['request'];
  readonly #method: MethodSpec;
  #bloomMatches = 0;
  #isBloomWrong = false;

  /** @param method the spec of `eth_getLogs` */
  constructor(request: LogSource['request'], method: MethodSpec) {
    this.#requestUpstreams = request;
    this.#method = method;
  }

  /** Whether a block's bloom filter is to be believed. */
  canUse(bloom: LogsBloom): boolean {
    return !this.#isBloomWrong && !bloom.isEmpty && this.#bloomMatches >= REQUIRED_BLOOM_MATCHES;
  }

  /** Asks until they are had. @param isNeeded where not, the list that is given says nothing  Never rejects. */
  async logsOf(header: Header, isNeeded: () => boolean): Promise<readonly Log[]> {
    const bloom = new LogsBloom(header.block['logsBloom']);
    let emptyResults = 0;
    for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(2 * delayMs, MAX_RETRY_MS)) {
      const logs = await this.#fetch(header.hash);
      if (!isNeeded()) return [];
      // A node behind a balancer that does not have the block yet may say that it has no logs.
      const isSuspicious =
        logs?.length === 0 && !bloom.isEmpty && !this.#isBloomWrong && ++emptyResults < MAX_EMPTY_RESULTS;
      if (logs !== undefined && !isSuspicious) {
        this.#checkBloom(bloom, logs);
        return logs;
      }
      await sleep(delayMs, undefined, { ref: false });
    }
  }

  /** Undefined: not to be had now. */
  async #fetch(blockHash: string): Promise<readonly Log[] | undefined> {
    try {
      const response = parseResponse(
        await this.#requestUpstreams(this.#method, [{ blockHash }], performance.now() + REQUEST_TIMEOUT_MS),
      );
      if (response.kind === 'error' || !Array.isArray(response.result)) return undefined;
      const logs = response.result.map(parseLog);
      return logs.includes(undefined) ? undefined : (logs as Log[]);
    } catch {
      // Nobody could answer, which is counted and logged where it was tried.
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

/** Address and topics in lower case, whatever the node writes: filters compare them as text. */
function parseLog(value: unknown): Log | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { address, topics } = value as Record<string, unknown>;
  if (typeof address !== 'string' || !Array.isArray(topics) || !topics.every((topic) => typeof topic === 'string'))
    return undefined;
  return { ...value, address: address.toLowerCase(), topics: topics.map((topic) => topic.toLowerCase()) };
}
