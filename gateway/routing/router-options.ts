import type { Auditor } from '../audit/auditor.ts';
import type { Log } from '../config/log.ts';
import type { NetworkHeads } from '../heads/network-heads.ts';
import type { NetworkRoutingMetrics } from '../metrics/routing-metrics.ts';
import type { Balance, ConfirmNull } from '../network-files/network-config.ts';
import type { FailsafeTable } from './retry/failsafe-table.ts';
import type { MethodRoutes } from '../routing-policy/method-routes.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Normalise, ResultCheck } from './attempts.ts';
import type { BlockIn } from './monotonic-reads.ts';

export interface RouterOptions<Previous> {
  readonly normalise: Normalise;
  readonly checkResult: ResultCheck;
  readonly blockIn: BlockIn;
  readonly confirmNull: ConfirmNull;
  /** A development chain, whose node may return an error for a transaction that it mines. */
  readonly isDevelopment: boolean;
  /** Which upstreams may get which method. */
  readonly routes: MethodRoutes<Upstream>;
  /** Times and attempts by method. */
  readonly failsafe: FailsafeTable<Upstream>;
  readonly hedgeAfterMs: number | undefined;
  readonly balance: Balance;
  readonly maxLagBlocks: number | undefined;
  readonly metrics: NetworkRoutingMetrics;
  readonly heads: NetworkHeads;
  /** Undefined: no read is audited. */
  readonly audit?: Pick<Auditor, 'sample'> | undefined;
  readonly log: Log;
  /** Of the same network before a reload. */
  readonly previous?: Previous | undefined;
}
