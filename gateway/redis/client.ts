import type * as Ioredis from 'ioredis';
import { loadPackage } from '../config/load-package.ts';
import type { RedisAddress } from './url.ts';

/** A connection to one Redis, or those to the nodes of a cluster. */
export type RedisClient = Ioredis.Redis | Ioredis.Cluster;

/** A gateway without Redis starts 40 ms sooner, and without 2 MB of code that lives and 8 MB of what loading it takes. */
const ioredis = (): typeof Ioredis => loadPackage('ioredis') as typeof Ioredis;

const maxRetryMs = 500;
/** A hung Redis does not answer our goodbye either. */
export const disconnectTimeoutMs = 100;

/**
 * Connects in the background, for ever. Whatever fails, fails at once or after `commandTimeoutMs`: nothing is queued.
 * @param autoPipelining commands of one turn of the event loop go to Redis in one write, one turn later
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
    // RESP2: invalidations come as messages, and a Redis of any age, or a proxy, speaks it.
    protocol: 2 as const,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // `prepare` must come before subscribing: CLIENT TRACKING is refused to a subscriber.
    autoResubscribe: false,
    // Our first heartbeat is the ready check; ioredis' own needs INFO, which an ACL may well refuse.
    enableReadyCheck: false,
    disableClientInfo: true,
    connectTimeout: connectTimeoutMs,
    commandTimeout: commandTimeoutMs,
    disconnectTimeout: disconnectTimeoutMs,
    retryStrategy: retryDelay,
    enableAutoPipelining: autoPipelining,
  };
  if (cluster !== undefined) {
    return new (ioredis().Cluster)([...cluster], {
      redisOptions: options,
      enableAutoPipelining: autoPipelining,
      enableOfflineQueue: false,
      enableReadyCheck: false,
      clusterRetryStrategy: retryDelay,
      slotsRefreshTimeout: connectTimeoutMs,
      // A call does not wait for a failover.
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
    });
  }
  const { Redis } = ioredis();
  if (sentinels === undefined) return new Redis(options);
  return new Redis({
    ...options,
    sentinels: [...sentinels],
    sentinelCommandTimeout: connectTimeoutMs,
    sentinelRetryStrategy: retryDelay,
    ...(options.tls !== undefined && { sentinelTLS: options.tls, enableTLSForSentinelMode: true }),
    // What led before follows now: the Sentinels know the one that leads.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
}

/** One Redis for each part of the data. */
export function primariesOf(redis: RedisClient): readonly Ioredis.Redis[] {
  return isCluster(redis) ? redis.nodes('master') : [redis];
}

function isCluster(redis: RedisClient): redis is Ioredis.Cluster {
  return redis instanceof ioredis().Cluster;
}

/** In a cluster any node's answer will do: what the others are at is found out by those who need them. */
export async function ping(redis: RedisClient): Promise<void> {
  await Promise.any(primariesOf(redis).map((primary) => primary.ping())).catch((error: unknown) => {
    throw (error as AggregateError).errors[0] ?? error;
  });
}

/** After a failure: a node that hangs never says that another has taken its place, but the others know. */
export function refreshTopology(redis: RedisClient): void {
  if (isCluster(redis)) redis.refreshSlotsCache();
}

/** Spread, so that many gateways do not come back in one moment. */
function retryDelay(times: number): number {
  return Math.min(50 * times, maxRetryMs) * (0.5 + Math.random() / 2);
}
