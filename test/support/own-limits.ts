import { Limiter } from '../../gateway/limits/limiter.ts';
import type { SharedLimits } from '../../gateway/upstreams/upstream-limits.ts';

/** The limits of an upstream that this process has alone. */
export function ownLimits(name = 'test/one'): SharedLimits {
  return { name, limiter: new Limiter({ sums: undefined, shouldServeWithoutRedis: true }), leases: undefined };
}
