import { LRUCache } from 'lru-cache';
import type { HeadMeters } from '../metrics/head-metrics.ts';
import type { UpstreamMeters } from '../metrics/metrics.ts';
import { checkChain } from './check-chain.ts';
import { withoutSecrets } from './credentials.ts';
import { Health } from './health.ts';
import type { HttpReply } from './http-upstream.ts';
import { readReply } from './read-reply.ts';
import { parsed, TimedOut, UpstreamFailure, type Failed, type Reply, type Verdict } from './reply.ts';
import { openSubscription, type SubscriptionEvents, type SubscriptionLink } from './websocket-subscription.ts';
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
  /** Over which it tells what is new. */
  readonly webSocket?: SubscriptionLink & Pick<Transport, 'close'>;
  readonly meters: UpstreamMeters;
}

/** A node may be updated, or a plan changed. */
const LACKING_MS = 600_000;
/** Its results of a method cannot be right, which may be so for a while: behind a balancer, or during an update. */
const ODD_MS = 30_000;
const PASSED_OVER_MAX = 500;

const SAMPLE_EVERY_MS = 1_000;

/** One node of a network. It is asked for its chain id before anything else, and never used when that is another's. */
export class Upstream {
  readonly name: string;
  readonly health = new Health();
  readonly #passedOver = new LRUCache<string, 'lacks' | 'odd'>({ max: PASSED_OVER_MAX, ttl: LACKING_MS });
  readonly #options: UpstreamOptions;
  readonly #secrets: readonly string[];
  #starting: Promise<unknown> | undefined;
  #isChainRight = false;
  #isOfOtherChain = false;
  #chainCheck: Promise<void> | undefined;
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

  get headMeters(): HeadMeters {
    return this.#options.meters;
  }

  /** Whether it belongs to another network, as it said when it was last asked. */
  get isOfOtherChain(): boolean {
    return this.#isOfOtherChain;
  }

  /** Whether another is to be asked for a method: it said of late that it lacks it, or gave what cannot be right. */
  isPassedOverFor(method: string): boolean {
    return this.#passedOver.size > 0 && this.#passedOver.has(method);
  }

  /** Whether it said of late that it does not have a method. */
  lacks(method: string): boolean {
    return this.#passedOver.size > 0 && this.#passedOver.get(method) === 'lacks';
  }

  /** It said that it does not have a part of the chain. */
  saidToLackHistory(now: number): void {
    this.#lacksHistoryUntil = now + LACKING_MS;
  }

  /** Whether it said of late that it does not have all of the chain, or has not indexed it. */
  get lacksHistory(): boolean {
    return performance.now() < this.#lacksHistoryUntil;
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

  /** Its reply was of use. */
  succeeded(): void {
    if (!this.health.isUp) this.#options.meters.up(true);
    this.health.succeeded();
  }

  /** Its reply was of no use, or none came. @returns whether it was up until now */
  failed(method: string, { failure, reply, retryAfterMs }: Failed, now: number): boolean {
    if (failure === 'unsupported') this.#passedOver.set(method, 'lacks');
    if (failure === 'malformed' && reply !== undefined) this.#passedOver.set(method, 'odd', { ttl: ODD_MS });
    const goesDown = this.health.failed(failure, now, retryAfterMs, reply !== undefined);
    this.#options.meters.up(this.health.isUp);
    if (reply !== undefined) this.#options.meters.unusable(failure);
    // What comes back may be another node.
    if (goesDown) this.#isChainRight = false;
    return goesDown;
  }

  /**
   * Asks for ourselves, not for a caller.
   * @param params as JSON text
   * @throws UpstreamFailure, for an error reply too
   */
  async resultOf(method: string, params: string): Promise<unknown> {
    const { meters, timeoutMs } = this.#options;
    try {
      const left = this.#isChainRight ? timeoutMs : await this.#prepare(performance.now() + timeoutMs);
      const reply = parsed(await this.#exchange(method, params, left));
      this.#repliedAt = performance.now();
      if (reply.kind === 'error') throw new UpstreamFailure('node-state', reply.message);
      meters.polled('reply');
      return reply.result;
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      // What comes back may be another node.
      if (error.failure === 'transport') this.#isChainRight = false;
      meters.polled(error.failure);
      throw error;
    }
  }

  /** Has the node tell of what is new. Undefined where it has no WebSocket. */
  subscribe(params: string, events: SubscriptionEvents): { close(): void } | undefined {
    const { webSocket, chainId, timeoutMs } = this.#options;
    const nextId = (): number => ++this.#id;
    return webSocket && openSubscription(webSocket, { chainId, params, timeoutMs, nextId }, events);
  }

  async close(): Promise<void> {
    await Promise.all([this.#options.transport.close(), this.#options.webSocket?.close()]);
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
    try {
      checkChain(reply, chainId);
    } catch (error) {
      this.#isOfOtherChain = error instanceof UpstreamFailure && error.failure === 'wrong-chain';
      throw error;
    }
    this.#isChainRight = true;
    this.#isOfOtherChain = false;
  }

  /**
   * A verdict on what it said, fit for callers and the log: nodes and proxies between may name the address that they
   * were asked at, and a provider's key is in it.
   */
  withoutSecrets<Kind extends Verdict>(verdict: Kind): Kind {
    const { reply } = verdict;
    if (reply?.kind !== 'error') return verdict;
    return { ...verdict, reply: { ...reply, message: withoutSecrets(reply.message, this.#secrets) } };
  }

  async #exchange(method: string, params: string, limitMs: number): Promise<Reply> {
    const id = ++this.#id;
    const body = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
    const { status, body: said, retryAfter } = await this.#options.transport.exchange(body, limitMs, id);
    return readReply(status, said, id, retryAfter);
  }
}
