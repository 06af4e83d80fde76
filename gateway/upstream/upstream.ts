import { LRUCache } from 'lru-cache';
import type { UpstreamMeters } from '../metrics/metrics.ts';
import { Health } from './health.ts';
import type { HttpReply } from './http-upstream.ts';
import { readReply } from './read-reply.ts';
import { parsed, TimedOut, UpstreamFailure, type Failed, type Reply } from './reply.ts';
import { within } from './within.ts';

/** How calls reach the node: over HTTP, or over a WebSocket. */
export interface Transport {
  /**
   * Sends a call and waits for the reply to it.
   * @param limitMs from now until the last byte
   * @param id the id in the body: over a WebSocket the reply is found by it
   * @throws UpstreamFailure
   */
  exchange(body: string, limitMs: number, id: number): Promise<HttpReply>;
  close(): Promise<void>;
  /** Parts of its address and of our credentials there that no caller may see. */
  readonly secrets: readonly string[];
}

export interface UpstreamOptions {
  readonly name: string;
  readonly chainId: number;
  readonly transport: Transport;
  /** Time for one attempt. */
  readonly timeoutMs: number;
  /** A node that we start ourselves: calls wait until it is ready. */
  readonly starting?: Promise<unknown>;
  readonly meters: UpstreamMeters;
}

export interface Head {
  readonly number: bigint;
  readonly gasLimit: bigint;
}

/** How often the head is looked at, and only when a call has just been answered: an idle network costs nothing. */
const HEAD_AGE_MS = 15_000;

/** A node may be updated, or a plan changed. */
const LACKING_MS = 600_000;
const LACKING_MAX = 500;

const SAMPLE_EVERY_MS = 1_000;

/** One node of a network. It is asked for its chain id before anything else, and never used when that is another's. */
export class Upstream {
  readonly name: string;
  readonly health = new Health();
  head: Head | undefined;
  readonly #lacking = new LRUCache<string, true>({ max: LACKING_MAX, ttl: LACKING_MS });
  readonly #options: UpstreamOptions;
  readonly #secrets: readonly string[];
  #starting: Promise<unknown> | undefined;
  #isChainRight = false;
  #isOfOtherChain = false;
  #chainCheck: Promise<void> | undefined;
  #headAskedAt = -Infinity;
  #repliedAt = -Infinity;
  #lacksHistoryUntil = -Infinity;
  readonly #sampledAt = new Map<string, number>();
  #id = 0;

  constructor(options: UpstreamOptions) {
    this.name = options.name;
    this.#options = options;
    this.#secrets = options.transport.secrets;
    this.#starting = options.starting;
  }

  /**
   * Asks one call, and takes note of how it went.
   * @param params as JSON text
   * @throws UpstreamFailure
   */
  async ask(method: string, params: string, limitMs: number): Promise<Reply> {
    const { meters, timeoutMs } = this.#options;
    const start = performance.now();
    try {
      const left = this.#isChainRight ? limitMs : await this.#prepare(start + limitMs);
      const reply = await this.#exchange(method, params, Math.min(left, timeoutMs));
      this.#repliedAt = performance.now();
      meters.answered((this.#repliedAt - start) / 1000);
      return reply;
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      const isSlow = error instanceof TimedOut && this.#repliedAt > start;
      const failure = isSlow ? new UpstreamFailure('slow', 'timed out, while others were answered') : error;
      meters.failed(failure.failure, (performance.now() - start) / 1000);
      throw failure;
    }
  }

  /** Whether it belongs to another network, as it said when it was last asked. */
  get isOfOtherChain(): boolean {
    return this.#isOfOtherChain;
  }

  /** Whether it said of late that it does not have a method. */
  lacks(method: string): boolean {
    return this.#lacking.size > 0 && this.#lacking.has(method);
  }

  /** It said that it does not have a method. */
  saidToLack(method: string): void {
    this.#lacking.set(method, true);
  }

  /** It said that it does not have a part of the chain. */
  saidToLackHistory(now: number): void {
    this.#lacksHistoryUntil = now + LACKING_MS;
  }

  /** Whether it said of late that it does not have all of the chain, or has not indexed it. */
  get lacksHistory(): boolean {
    return performance.now() < this.#lacksHistoryUntil;
  }

  /** Looks at the head in the background when the last look is old. */
  refreshHead(now: number): void {
    if (now - this.#headAskedAt >= HEAD_AGE_MS) this.learnHead(now).catch(ignore);
  }

  /** Whether one of its results is to be looked at more closely: one a second of each method. */
  isSampled(method: string, now: number): boolean {
    if (now - (this.#sampledAt.get(method) ?? -Infinity) < SAMPLE_EVERY_MS) return false;
    this.#sampledAt.set(method, now);
    return true;
  }

  /** One of its results is not as the spec says. */
  deviates(method: string): void {
    this.#options.meters.deviates(method);
  }

  /** Its reply was of use. Looks at the head in the background when the last look is old. */
  succeeded(now: number): void {
    if (!this.health.isUp) this.#options.meters.up(true);
    this.health.succeeded();
    this.refreshHead(now);
  }

  /** Its reply was of no use, or none came. @returns whether it was up until now */
  failed({ failure, reply, retryAfterMs }: Failed, now: number): boolean {
    const goesDown = this.health.failed(failure, now, retryAfterMs, reply !== undefined);
    this.#options.meters.up(this.health.isUp);
    if (reply !== undefined) this.#options.meters.unusable(failure);
    if (failure === 'wrong-chain') this.#isOfOtherChain = true;
    // What comes back may be another node.
    if (goesDown) this.#isChainRight = false;
    return goesDown;
  }

  /** @throws UpstreamFailure */
  async learnHead(now: number): Promise<Head> {
    this.#headAskedAt = now;
    const reply = parsed(await this.ask('eth_getBlockByNumber', '["latest",false]', this.#options.timeoutMs));
    const head = reply.kind === 'result' ? readHead(reply.result) : undefined;
    if (head === undefined) throw new UpstreamFailure('node-state', 'the latest block is not to be had');
    this.head = head;
    this.#options.meters.head(Number(head.number));
    return head;
  }

  close(): Promise<void> {
    return this.#options.transport.close();
  }

  /**
   * Waits for a node of ours to start, and checks the chain id; one check serves all who wait.
   * @returns the time that is left
   */
  async #prepare(deadline: number): Promise<number> {
    const timedOut = (): UpstreamFailure => new TimedOut();
    if (this.#starting !== undefined) {
      const started = this.#starting.catch(() => {
        throw new UpstreamFailure('transport', 'the local node did not start');
      });
      await within(started, deadline - performance.now(), timedOut);
      this.#starting = undefined;
    }
    this.#chainCheck ??= this.#checkChain().finally(() => {
      this.#chainCheck = undefined;
    });
    await within(this.#chainCheck, deadline - performance.now(), timedOut);
    return deadline - performance.now();
  }

  async #checkChain(): Promise<void> {
    const { chainId, timeoutMs } = this.#options;
    const reply = await this.#exchange('eth_chainId', '[]', timeoutMs);
    const given = reply.kind === 'result' ? toBigInt(reply.result) : undefined;
    if (given === undefined) throw new UpstreamFailure('malformed', 'eth_chainId is not answered');
    if (given !== BigInt(chainId)) throw new UpstreamFailure('wrong-chain', `its chain id is ${given}, not ${chainId}`);
    this.#isChainRight = true;
    this.#isOfOtherChain = false;
  }

  /** Nodes and proxies between may name the address that they were asked at, and a provider's key is in it. */
  #withoutSecrets(message: string): string {
    const tellsOn = (text: string): boolean => {
      const lower = text.toLowerCase();
      return this.#secrets.some((secret) => lower.includes(secret));
    };
    if (!tellsOn(message)) return message;
    return message
      .split(/(\s+)/)
      .map((word) => (tellsOn(word) ? '<upstream>' : word))
      .join('');
  }

  async #exchange(method: string, params: string, limitMs: number): Promise<Reply> {
    const id = ++this.#id;
    const body = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
    const { status, body: said, retryAfter } = await this.#options.transport.exchange(body, limitMs, id);
    const reply = readReply(status, said, id, retryAfter);
    if (reply.kind === 'large') return { ...reply, parse: () => this.#safe(reply.parse()) };
    return this.#safe(reply);
  }

  #safe<Kind extends Reply>(reply: Kind): Kind {
    return reply.kind === 'error' ? { ...reply, message: this.#withoutSecrets(reply.message) } : reply;
  }
}

function readHead(block: unknown): Head | undefined {
  if (typeof block !== 'object' || block === null) return undefined;
  const number = toBigInt((block as { number?: unknown }).number);
  const gasLimit = toBigInt((block as { gasLimit?: unknown }).gasLimit);
  return number === undefined || gasLimit === undefined ? undefined : { number, gasLimit };
}

function toBigInt(quantity: unknown): bigint | undefined {
  return typeof quantity === 'string' && /^0x[0-9a-f]{1,64}$/i.test(quantity) ? BigInt(quantity) : undefined;
}

function ignore(): void {
  // A look at the head that failed is counted; the next call looks again.
}
