import { clock, type Timer } from '../clock/clock.ts';
import { errorCode, type Log } from '../config/log.ts';
import { checkRole, connectTo, DISCONNECT_TIMEOUT_MS, refreshTopology, ping, type RedisClient } from './client.ts';
import type { RedisAddress } from './url.ts';

/** Default timeout of a command or a heartbeat. Connecting may take twice as long. */
const DEFAULT_COMMAND_TIMEOUT_MS = 500;
const HEARTBEAT_INTERVAL_MS = 500;
/** Interval of the warning while Redis is unavailable. */
const WARNING_INTERVAL_MS = 60_000;

export interface RedisLinkOptions {
  /** The log field `connection`. */
  readonly purpose: 'changes' | 'limits' | 'store' | 'cache';
  readonly address: RedisAddress;
  readonly log: Log;
  readonly commandTimeoutMs?: number;
  /** Joins many concurrent commands off the hot path: each takes a third of the CPU time. */
  readonly autoPipelining?: boolean;
  /** Whether a replica is accepted: set by programs that may read from one. A gateway needs a primary. */
  readonly acceptsReplica?: boolean;
  /** Runs on each new connection before it counts as up. If it rejects, the link reconnects. */
  readonly prepare?: (redis: RedisClient) => Promise<void>;
  /** Listener for changes of `isUp`. */
  readonly onChange?: () => void;
}

/**
 * Maintains one connection to Redis, or one to each node of a cluster: reconnects, and detects by a heartbeat whether
 * Redis responds and is a primary. TCP alone reports a silently cut connection or a hung Redis only after minutes, and a
 * primary that becomes a replica keeps its connections.
 */
export class RedisLink {
  readonly redis: RedisClient;
  readonly #options: RedisLinkOptions;
  readonly #timer: Timer;
  #isUp = false;
  #lastError: unknown = undefined;
  /** Number of the current connection: the result of a heartbeat on an earlier one is ignored. */
  #connection = 0;
  #isPrepared = false;
  #missedBeats = 0;
  #isChecking = false;
  /** The state that was logged last. */
  #loggedState: boolean | undefined;
  /** Time of the last warning, by clock.now(). */
  #warnedAt = -Infinity;
  /** Time since which Redis is unavailable, by clock.now(). */
  #downSince: number | undefined;
  #isClosing = false;
  readonly #waiting = new Set<() => void>();

  constructor(options: RedisLinkOptions) {
    this.#options = options;
    const { address, commandTimeoutMs = DEFAULT_COMMAND_TIMEOUT_MS, autoPipelining = false } = options;
    this.redis = connectTo(address, commandTimeoutMs, 2 * DEFAULT_COMMAND_TIMEOUT_MS, autoPipelining);
    this.redis.on('error', (error: unknown) => {
      // The cause of a cluster's error is in the error of a node.
      this.#lastError = (error as { lastNodeError?: unknown }).lastNodeError ?? error;
    });
    this.redis.on('ready', () => {
      this.#startConnection();
      void this.#beat();
    });
    this.redis.on('close', () => {
      this.#startConnection();
      if (this.#isUp) this.#lastError ??= closed;
      this.#setState(false);
    });
    this.#timer = clock.setInterval(() => void this.#beat(), HEARTBEAT_INTERVAL_MS).unref();
  }

  /** Whether the connection is prepared and Redis responded to the last command or heartbeat. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** Rises with each new connection, and with each one that ends. */
  get connection(): number {
    return this.#connection;
  }

  /** The last known cause of an outage. */
  get lastError(): unknown {
    return this.#lastError;
  }

  /** Waits until the link is up, at most `timeoutMs`. @returns whether it is up */
  async waitUntilUp(timeoutMs: number): Promise<boolean> {
    if (this.#isUp) return true;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clock.clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = clock.setTimeout(done, timeoutMs);
      this.#waiting.add(done);
    });
    return this.#isUp;
  }

  /**
   * Reports the error of a failed command. If Redis did not respond, or is no primary, the link is down until the next
   * heartbeat, which starts at once. So no second command waits for a timeout.
   * @returns the most specific known error
   */
  reportFailure(error: unknown): unknown {
    if (isRedisError(error) && !isOfReplica(error)) return error;
    this.#rememberError(error);
    this.#setState(false);
    refreshTopology(this.redis);
    void this.#beat();
    return this.#lastError;
  }

  /** Ends the connection and makes another one, to the server that has the address now. */
  reconnect(): void {
    if (this.redis.status === 'ready') this.redis.disconnect(true);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    clock.clearInterval(this.#timer);
    const hasSocket = this.redis.status !== 'end' && this.redis.status !== 'reconnecting';
    const end = new Promise<void>((resolve) => {
      if (!hasSocket) return;
      // A cluster without a reachable node emits no event.
      const timer = clock.setTimeout(resolve, 2 * DISCONNECT_TIMEOUT_MS);
      this.redis.once('end', () => {
        clock.clearTimeout(timer);
        resolve();
      });
    });
    this.redis.disconnect();
    if (hasSocket) await end;
    for (const done of this.#waiting) done();
  }

  #startConnection(): void {
    this.#connection += 1;
    this.#isPrepared = false;
    this.#missedBeats = 0;
  }

  /** A heartbeat; the first of a connection also prepares it. */
  async #beat(): Promise<void> {
    if (this.#isChecking || this.redis.status !== 'ready') return;
    this.#isChecking = true;
    const connection = this.#connection;
    try {
      await ping(this.redis);
      if (this.#options.acceptsReplica !== true) await this.#checkRole();
      if (!this.#isPrepared) await this.#options.prepare?.(this.redis);
      if (connection !== this.#connection) return;
      this.#isPrepared = true;
      this.#missedBeats = 0;
      this.#setState(true);
    } catch (error) {
      if (connection !== this.#connection) return;
      this.#rememberError(error);
      this.#setState(false);
      // Other error responses (NOAUTH) prove that the connection works: reconnecting would not help.
      if (!isRedisError(error) || isOfReplica(error)) this.#missedBeats += 1;
      // A primary was demoted. While the address still leads to it, new connections are made at heartbeats only.
      const isDemoted = this.#isPrepared && isOfReplica(error);
      if (isDemoted || this.#missedBeats >= 2) this.reconnect();
    } finally {
      this.#isChecking = false;
    }
  }

  /** Ignores rejections for other reasons: an ACL, a full disk or memory. Then reading still works. */
  async #checkRole(): Promise<void> {
    await checkRole(this.redis, this.#options.purpose === 'cache').catch((error: unknown) => {
      if (!isRedisError(error) || isOfReplica(error)) throw error;
    });
  }

  /** Ignores 'Stream isn't writeable' and 'Connection is closed': an earlier error has the cause. */
  #rememberError(error: unknown): void {
    if (isTimeout(error) || isRedisError(error)) this.#lastError = error;
  }

  #setState(isUp: boolean): void {
    if (isUp !== this.#isUp) {
      this.#isUp = isUp;
      this.#options.onChange?.();
    }
    if (isUp) for (const done of this.#waiting) done();
    const now = clock.now();
    const isDue = isUp !== this.#loggedState || (!isUp && now - this.#warnedAt >= WARNING_INTERVAL_MS);
    if (!isDue || this.#isClosing) return;
    this.#loggedState = isUp;
    const { log, purpose } = this.#options;
    const forS = this.#downSince === undefined ? undefined : Math.round((now - this.#downSince) / 1_000);
    const facts = { connection: purpose, ...(forS !== undefined && { forS }) };
    if (isUp) {
      log.info(facts, 'Redis is available');
      this.#downSince = undefined;
      this.#lastError = undefined;
      return;
    }
    this.#downSince ??= now;
    this.#warnedAt = now;
    log.warn({ ...facts, error: redisErrorCode(this.#lastError) }, 'Redis is unavailable');
  }
}

/** Redis ended the connection, and no error says why. */
const closed = Object.assign(new Error('closed'), { code: 'ECONNRESET' });

/** Whether the error is a response of Redis: then the connection works. */
export function isRedisError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

/**
 * Whether the server is a replica, or loads its data, which a replica does when it joins its primary. Another server may have
 * its address meanwhile.
 */
function isOfReplica(error: unknown): boolean {
  return isRedisError(error) && /^(READONLY|LOADING|MASTERDOWN) /.test(error.message);
}

/** The first word of a Redis error is its code. The rest may name users and keys, and is dropped. */
export function redisErrorCode(error: unknown): string {
  if (error === undefined || isTimeout(error)) return 'ETIMEDOUT';
  if (isRedisError(error)) return /^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR';
  // ioredis gives no other cause for Sentinels and cluster nodes.
  if (error instanceof Error && error.message.endsWith('Connection is closed.')) return 'no connection';
  return errorCode(error);
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Command timed out';
}
