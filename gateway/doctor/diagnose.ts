import type { NetworkConfig, UpstreamConfig } from '../network-files/network-config.ts';
import type { Transport } from '../upstreams/transport/transport.ts';
import { probeRedis, type RedisFindings } from './probe-redis.ts';
import { probeUpstream, type UpstreamFindings } from './probe-upstream.ts';

export interface NetworkFindings {
  readonly slug: string;
  readonly name: string;
  readonly chainId: number;
  readonly upstreams: readonly UpstreamFindings[];
}

/** Whether calls can be answered; nothing in it is secret. */
export interface Diagnosis {
  readonly ok: boolean;
  readonly networks: readonly NetworkFindings[];
  /** Undefined without REDIS_URL. */
  readonly redis: RedisFindings | undefined;
}

export interface DiagnoseOptions {
  readonly networks: readonly NetworkConfig[];
  readonly redisUrl: string | undefined;
  /** For each upstream. */
  readonly timeoutMs: number;
  readonly open: (upstream: UpstreamConfig) => Transport | undefined;
  /** Told with each step: how many of all were done. */
  readonly onProgress: (done: number, all: number) => void;
}

/** Redis is near, or of little use. */
const REDIS_TIMEOUT_MS = 3_000;

/** The others' newest block may be so much younger before an upstream counts as behind. */
const MAX_LAG_S = 30;

/** Asks every upstream and Redis, all at once, within the limit. @throws SettingsError */
export async function diagnose({
  networks,
  redisUrl,
  timeoutMs,
  open,
  onProgress,
}: DiagnoseOptions): Promise<Diagnosis> {
  const all = networks.reduce((sum, { upstreams }) => sum + upstreams.length, redisUrl === undefined ? 0 : 1);
  let done = 0;
  const step = async <T>(work: Promise<T>): Promise<T> => {
    const found = await work;
    onProgress(++done, all);
    return found;
  };
  const [redis, ...found] = await Promise.all([
    redisUrl === undefined ? undefined : step(probeRedis(redisUrl, Math.min(timeoutMs, REDIS_TIMEOUT_MS))),
    ...networks.map(async (network): Promise<NetworkFindings> => {
      const { slug, name, chainId } = network;
      const probes = network.upstreams.map((upstream) => step(probeUpstream(network, upstream, { timeoutMs, open })));
      const upstreams = await Promise.all(probes);
      addLagProblems(upstreams);
      return { slug, name, chainId, upstreams };
    }),
  ]);
  const problems = [...found.flatMap(({ upstreams }) => upstreams), ...(redis === undefined ? [] : [redis])];
  return { ok: problems.every((one) => one.problems.length === 0), networks: found, redis };
}

function addLagProblems(upstreams: readonly UpstreamFindings[]): void {
  const youngest = Math.min(...upstreams.map(({ head }) => head?.ageS ?? Infinity));
  for (const { head, notes } of upstreams) {
    if (head !== undefined && head.ageS - youngest > MAX_LAG_S)
      notes.push(`${head.ageS - youngest} s behind the others`);
  }
}
