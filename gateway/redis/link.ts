import { errorCode, type Log } from '../config/log.ts';
import { connectTo, disconnectTimeoutMs, refreshTopology, ping, type RedisClient } from './client.ts';
import type { RedisAddress } from './url.ts';

/** How long Redis may take to answer a command or a heartbeat, unless told otherwise, and half of what a connection may. */
const defaultCommandTimeoutMs = 500;
const heartbeatIntervalMs = 500;

export interface RedisLinkOptions {
  /** What it is for, in the log. */
  readonly purpose: 'commands' | 'changes' | 'limits' | 'usage' | 'cache';
  readonly address: RedisAddress;
  readonly log: Log;
  readonly commandTimeoutMs?: number;
  /** For many commands at a time that nobody waits for: they cost a third of what they cost one by one. */
  readonly autoPipelining?: boolean;
  /** Run on each new connection before it counts as up; where it rejects, another connection is made. */
  readonly prepare?: (redis: RedisClient) => Promise<void>;
}

/**
 * One connection to Redis, or to each node of a cluster, that is always being made, and knows whether Redis answers on
 * it. TCP by itself tells a silently cut connection or a hung Redis only after minutes: hence a heartbeat.
 */
export class RedisLink {
  readonly redis: RedisClient;
  readonly #options: RedisLinkOptions;
  readonly #timer: NodeJS.Timeout;
  #up = false;
  #lastError: unknown = undefined;
  /** The connection that is meant: what an earlier one had under way says nothing of this one. */
  #connection = 0;
  #prepared = false;
  #missedBeats = 0;
  #checking = false;
  #logged: boolean | undefined;
  #closing = false;
  readonly #waiting = new Set<() => void>();

  constructor(options: RedisLinkOptions) {
    this.#options = options;
    const { address, commandTimeoutMs = defaultCommandTimeoutMs, autoPipelining = false } = options;
    this.redis = connectTo(address, commandTimeoutMs, 2 * defaultCommandTimeoutMs, autoPipelining);
    this.redis.on('error', (error: unknown) => {
      // Of a cluster it is a node's error that tells the cause.
      this.#lastError = (error as { lastNodeError?: unknown }).lastNodeError ?? error;
    });
    this.redis.on('ready', () => {
      this.#begin();
      void this.#check();
    });
    this.redis.on('close', () => {
      this.#begin();
      this.#setState(false);
    });
    this.#timer = setInterval(() => void this.#check(), heartbeatIntervalMs).unref();
  }

  /** Whether Redis answered at the last occasion, and the connection is prepared. */
  get isUp(): boolean {
    return this.#up;
  }

  /** Why it is not up, in so far as it is known. */
  get lastError(): unknown {
    return this.#lastError;
  }

  /** Waits until it is up. @returns whether it is, after `limitMs` at the latest. */
  async waitUntilUp(timeoutMs: number): Promise<boolean> {
    if (this.#up) return true;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      this.#waiting.add(done);
    });
    return this.#up;
  }

  /**
   * To be called with the error of a failed command. Where Redis did not answer it, this link is down until the next
   * heartbeat, which follows at once: no second command waits in vain.
   * @returns the error that says most of the cause.
   */
  reportFailure(error: unknown): unknown {
    if (isRedisError(error)) return error;
    this.#rememberError(error);
    this.#setState(false);
    refreshTopology(this.redis);
    void this.#check();
    return this.#lastError;
  }

  async close(): Promise<void> {
    this.#closing = true;
    clearInterval(this.#timer);
    const hasSocket = this.redis.status !== 'end' && this.redis.status !== 'reconnecting';
    const end = new Promise<void>((resolve) => {
      if (!hasSocket) return;
      // A cluster of which no node was found says nothing.
      const timer = setTimeout(resolve, 2 * disconnectTimeoutMs);
      this.redis.once('end', () => {
        clearTimeout(timer);
        resolve();
      });
    });
    this.redis.disconnect();
    if (hasSocket) await end;
    for (const done of this.#waiting) done();
  }

  #begin(): void {
    this.#connection += 1;
    this.#prepared = false;
    this.#missedBeats = 0;
  }

  /** A heartbeat; the first of a connection also prepares it. */
  async #check(): Promise<void> {
    if (this.#checking || this.redis.status !== 'ready') return;
    this.#checking = true;
    const connection = this.#connection;
    try {
      await ping(this.redis);
      if (!this.#prepared) await this.#options.prepare?.(this.redis);
      if (connection !== this.#connection) return;
      this.#prepared = true;
      this.#missedBeats = 0;
      this.#setState(true);
    } catch (error) {
      if (connection !== this.#connection) return;
      this.#rememberError(error);
      this.#setState(false);
      // An error is an answer too (LOADING, NOAUTH): then a new connection would help nothing.
      if (!isRedisError(error)) this.#missedBeats += 1;
      if (this.#missedBeats >= 2) this.redis.disconnect(true);
    } finally {
      this.#checking = false;
    }
  }

  /** 'Stream isn't writeable' and 'Connection is closed' only follow from an earlier error that says more. */
  #rememberError(error: unknown): void {
    if (isTimeout(error) || isRedisError(error)) this.#lastError = error;
  }

  #setState(up: boolean): void {
    this.#up = up;
    if (up) for (const done of this.#waiting) done();
    if (up === this.#logged || this.#closing) return;
    this.#logged = up;
    const { log, purpose } = this.#options;
    if (up) log.info({ connection: purpose }, 'Redis answers');
    else log.warn({ connection: purpose, error: redisErrorCode(this.#lastError) }, 'Redis does not answer');
  }
}

/** Redis said no: the connection itself works. */
export function isRedisError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

/** Redis gave no answer, or rejected the command. The message names no URL and no secret. */
export class RedisUnreachable extends Error {
  override readonly name = 'RedisUnreachable';
  /** Of the operating system (`ECONNREFUSED`) or of Redis (`WRONGPASS`). */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** The error for operators. */
export function unreachable(cause: unknown): RedisUnreachable {
  const code = redisErrorCode(cause);
  const text = isRedisError(cause)
    ? `Redis refuses (${code}): is REDIS_URL right?`
    : `Redis cannot be reached (${code}): is REDIS_URL right?`;
  return new RedisUnreachable(text, code);
}

/** The first word of what Redis says is its code; the rest may name users and keys. */
export function redisErrorCode(error: unknown): string {
  if (error === undefined || isTimeout(error)) return 'ETIMEDOUT';
  if (isRedisError(error)) return /^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR';
  // All that ioredis tells of Sentinels and of a cluster's nodes.
  if (error instanceof Error && error.message.endsWith('Connection is closed.')) return 'no connection';
  return errorCode(error);
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Command timed out';
}
