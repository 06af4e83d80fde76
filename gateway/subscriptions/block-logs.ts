import { setTimeout as sleep } from 'node:timers/promises';
import type { Header } from '../heads/header.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { Reply, ResultReply, ErrorReply } from '../upstream/reply.ts';
import type { Log } from './log-filter.ts';
import { LogsBloom } from './logs-bloom.ts';

/** The upstreams of a network, as far as logs are asked of them. */
export interface LogSource {
  ask(method: MethodSpec, params: readonly unknown[], deadline: number): Promise<Reply>;
}

const ASK_MS = 10_000;
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;
/** After so many empty lists, 10 s in all, the header's bloom filter is not believed any more. */
const EMPTY_MAX = 10;
/**
 * Blocks with logs that must have fitted their bloom filter before one is believed that says there is nothing of use.
 * Polygon's blocks have logs that are not in it (state syncs: bor, eth/filters/bor_filter.go), every few minutes.
 */
const PROOFS = 256;

/** Gets all logs of one block after the other from a network's upstreams. */
export class BlockLogs {
  readonly #askUpstreams: LogSource['ask'];
  readonly #method: MethodSpec;
  #proofs = 0;
  #isBloomWrong = false;

  /** @param method the spec of `eth_getLogs` */
  constructor(ask: LogSource['ask'], method: MethodSpec) {
    this.#askUpstreams = ask;
    this.#method = method;
  }

  /** Whether a block's bloom filter is to be believed. */
  believes(bloom: LogsBloom): boolean {
    return !this.#isBloomWrong && !bloom.isEmpty && this.#proofs >= PROOFS;
  }

  /** Asks until they are had. @param isWanted where not, the list that is given says nothing  Never rejects. */
  async of(header: Header, isWanted: () => boolean): Promise<readonly Log[]> {
    const bloom = new LogsBloom(header.block['logsBloom']);
    let empty = 0;
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      const logs = await this.#ask(header.hash);
      if (!isWanted()) return [];
      // A node behind a balancer that does not have the block yet may say that it has no logs.
      const isDoubtful = logs?.length === 0 && !bloom.isEmpty && !this.#isBloomWrong && ++empty < EMPTY_MAX;
      if (logs !== undefined && !isDoubtful) {
        this.#learn(bloom, logs);
        return logs;
      }
      await sleep(wait, undefined, { ref: false });
    }
  }

  /** Undefined: not to be had now. */
  async #ask(blockHash: string): Promise<readonly Log[] | undefined> {
    try {
      const reply = parsed(await this.#askUpstreams(this.#method, [{ blockHash }], performance.now() + ASK_MS));
      if (reply.kind === 'error' || !Array.isArray(reply.result)) return undefined;
      const logs = reply.result.map(readLog);
      return logs.includes(undefined) ? undefined : (logs as Log[]);
    } catch {
      // Nobody could answer, which is counted and logged where it was tried.
      return undefined;
    }
  }

  #learn(bloom: LogsBloom, logs: readonly Log[]): void {
    if (this.#isBloomWrong || (bloom.isEmpty && logs.length === 0)) return;
    if (logs.length > 0 && logs.every((log) => bloom.covers(log))) this.#proofs++;
    else this.#isBloomWrong = true;
  }
}

function parsed(reply: Reply): ResultReply | ErrorReply {
  return reply.kind === 'large' ? reply.parse() : reply;
}

/** Address and topics in lower case, whatever the node writes: filters compare them as text. */
function readLog(said: unknown): Log | undefined {
  if (typeof said !== 'object' || said === null) return undefined;
  const { address, topics } = said as Record<string, unknown>;
  if (typeof address !== 'string' || !Array.isArray(topics) || !topics.every((topic) => typeof topic === 'string'))
    return undefined;
  return { ...said, address: address.toLowerCase(), topics: topics.map((topic) => topic.toLowerCase()) };
}
