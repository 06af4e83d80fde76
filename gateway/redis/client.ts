import type * as Ioredis from 'ioredis';
import { clock } from '../clock/clock.ts';
import { random } from '../clock/random.ts';
import { loadPackage } from '../config/load-package.ts';
import type { RedisAddress } from './url.ts';

/** A connection to one Redis server, or the connections to the nodes of a cluster. */
export type RedisClient = Ioredis.Redis | Ioredis.Cluster;

/** Package that is loaded only if Redis is used: without it a gateway starts 40 ms sooner and needs 10 MB less memory. */
const ioredis = (): typeof Ioredis => loadPackage('ioredis') as typeof Ioredis;

const MAX_RETRY_MS = 500;
/** Limit for the closing handshake, because a Redis that hangs does not answer it. */
export const DISCONNECT_TIMEOUT_MS = 100;

/**
 * Connects in the background, without a limit of attempts. Commands are never queued: each fails at once, or after
 * `commandTimeoutMs`.
 * @param autoPipelining sends the commands of one event loop turn in one write, one turn later
 */
export function connectTo(
  address: RedisAddress,
  commandTimeoutMs: number,
  connectTimeoutMs: number,
  autoPipelining: boolean,
): RedisClient {
  const { cluster, sentinels, ...others } = address;
  const options = {
    ...others,
    // RESP2: every Redis version and proxy supports it.
    protocol: 2 as const,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // `prepare` subscribes, and learns whether Redis rejects that.
    autoResubscribe: false,
    // The first heartbeat replaces ioredis' ready check, which needs INFO: an ACL may forbid that.
    enableReadyCheck: false,
    disableClientInfo: true,
    connectTimeout: connectTimeoutMs,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    retryStrategy: retryDelay,
    enableAutoPipelining: autoPipelining,
  };
  if (cluster !== undefined) {
    const nodes = new (ioredis().Cluster)([...cluster], {
      redisOptions: options,
      enableAutoPipelining: autoPipelining,
      enableOfflineQueue: false,
      enableReadyCheck: false,
      clusterRetryStrategy: retryDelay,
      slotsRefreshTimeout: connectTimeoutMs,
      // Calls do not wait for a failover.
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
    });
    // Heartbeats go to the nodes directly.
    return nodes.on('+node', (node: Ioredis.Redis) => limitCommands(node, commandTimeoutMs));
  }
  const ofSentinels = sentinels && {
    sentinels: [...sentinels],
    sentinelCommandTimeout: connectTimeoutMs,
    sentinelRetryStrategy: retryDelay,
    ...(options.tls !== undefined && { sentinelTLS: options.tls, enableTLSForSentinelMode: true }),
  };
  return limitCommands(new (ioredis().Redis)({ ...options, ...ofSentinels }), commandTimeoutMs);
}

/**
 * Limits the time of each command. The timers of ioredis fire before a response is read that arrived while the process had no
 * CPU; here, one turn of the event loop reads it first.
 */
function limitCommands(redis: Ioredis.Redis, timeoutMs: number): Ioredis.Redis {
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (command, stream) => {
    const reject = (): void => {
      if (!command.isSettled) command.reject(new Error('Command timed out'));
    };
    const timer = clock.setTimeout(clock.setImmediate.bind(clock), timeoutMs, reject);
    const clear = clock.clearTimeout.bind(clock, timer);
    command.promise.then(clear, clear);
    return send(command, stream);
  };
  return redis;
}

/** The connections to all primaries, which together have all keys. */
export function primariesOf(redis: RedisClient): readonly Ioredis.Redis[] {
  return isCluster(redis) ? redis.nodes('master') : [redis];
}

function isCluster(redis: RedisClient): redis is Ioredis.Cluster {
  return redis instanceof ioredis().Cluster;
}

/** Pings all primaries. One response is enough: a command to another node reports its own failure. */
export async function ping(redis: RedisClient): Promise<void> {
  await Promise.any(primariesOf(redis).map((primary) => primary.ping())).catch((error: unknown) => {
    throw (error as AggregateError).errors[0] ?? error;
  });
}

/**
 * Rejects with READONLY if the server is a replica. The commands write nothing, but only a primary accepts them. In a cluster,
 * a replica redirects each command itself. A subscriber may send no such command.
 */
export async function checkRole(redis: RedisClient, isCache: boolean): Promise<void> {
  if (isCluster(redis) || redis.mode === 'subscriber') return;
  await (isCache ? redis.set('gatehouse:answer:-', '', 'XX') : redis.pexpire('gatehouse:limit:-', 1));
}

/** Reloads the slots of a cluster after a failure: a node that hangs does not report that a replica replaced it. */
export function refreshTopology(redis: RedisClient): void {
  if (isCluster(redis)) redis.refreshSlotsCache();
}

/** Delay of a retry, randomised, so that many gateways do not reconnect at the same time. */
function retryDelay(times: number): number {
  return Math.min(50 * times, MAX_RETRY_MS) * (0.5 + random.number() / 2);
}
