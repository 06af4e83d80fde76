import type { NetworkConfig, UpstreamConfig } from '../network-files/network-config.ts';
import type { Transport } from '../upstreams/transport/transport.ts';
import type { RedisSettings } from '../redis/check-redis.ts';
import { probeRedis, type RedisFindings } from './probe-redis.ts';
import { probeUpstream, type UpstreamFindings } from './probe-upstream.ts';

export interface NetworkFindings {
  readonly slug: string;
  readonly name: string;
  readonly chainId: number;
  readonly upstreams: readonly UpstreamFindings[];
}

/** Whether calls can be served. It has no secrets. */
export interface Diagnosis {
  readonly ok: boolean;
  readonly networks: readonly NetworkFindings[];
  /** Findings about Redis; undefined without REDIS_URL and CACHE_REDIS_URL. */
  readonly redis: RedisFindings | undefined;
}

export interface DiagnoseOptions {
  readonly networks: readonly NetworkConfig[];
  readonly settings: RedisSettings;
  /** Timeout for each upstream. */
  readonly timeoutMs: number;
  readonly open: (upstream: UpstreamConfig) => Transport | undefined;
  /** Listener for the number of finished steps. */
  readonly onProgress: (done: number, all: number) => void;
}

/** A slower Redis is useless for a gateway. */
const REDIS_TIMEOUT_MS = 3_000;

/** An upstream is behind if the newest block of another one is younger by more than this. */
const MAX_LAG_S = 30;

/** Tests every upstream and Redis concurrently, each within its timeout. @throws SettingsError */
export async function diagnose({
  networks,
  settings,
  timeoutMs,
  open,
  onProgress,
}: DiagnoseOptions): Promise<Diagnosis> {
  const hasRedis = (settings.REDIS_URL ?? settings.CACHE_REDIS_URL) !== undefined;
  const all = networks.reduce((sum, { upstreams }) => sum + upstreams.length, hasRedis ? 1 : 0);
  let done = 0;
  const step = async <T>(work: Promise<T>): Promise<T> => {
    const found = await work;
    onProgress(++done, all);
    return found;
  };
  const [redis, ...found] = await Promise.all([
    hasRedis ? step(probeRedis(settings, Math.min(timeoutMs, REDIS_TIMEOUT_MS))) : undefined,
    ...networks.map(async (network): Promise<NetworkFindings> => {
      const { slug, name, chainId } = network;
      const probes = network.upstreams.map((upstream) => step(probeUpstream(network, upstream, { timeoutMs, open })));
      const upstreams = await Promise.all(probes);
      addLagProblems(upstreams);
      return { slug, name, chainId, upstreams };
    }),
  ]);
  const findings = [...found.flatMap(({ upstreams }) => upstreams), ...(redis === undefined ? [] : [redis])];
  return { ok: findings.every(({ problems }) => problems.length === 0), networks: found, redis };
}

function addLagProblems(upstreams: readonly UpstreamFindings[]): void {
  const minAgeS = Math.min(...upstreams.map(({ head }) => head?.ageS ?? Infinity));
  for (const { head, notes } of upstreams) {
    if (head !== undefined && head.ageS - minAgeS > MAX_LAG_S) notes.push(`${head.ageS - minAgeS} s behind the others`);
  }
}
