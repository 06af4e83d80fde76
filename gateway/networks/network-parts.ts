import type { SlotLeases } from '../admission/slot-lease.ts';
import type { ResponseCache } from '../cache/response-cache.ts';
import type { DurableCache } from '../cache/durable-cache.ts';
import type { Log } from '../config/log.ts';
import type { ProcessBounds } from '../config/process-bounds.ts';
import type { Settings } from '../config/settings.ts';
import type { LocalChains } from './local-chains.ts';
import type { MemoryBudget } from '../memory/memory-budget.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { ShownParams } from '../observability/shown-params.ts';
import type { ParamCheck } from '../spec/check-params.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { UnitsTable } from '../spec/request-units.ts';
import type { ResultCheck } from '../spec/result-check.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { UsageLedger } from '../usage/usage-ledger.ts';

import type { WorkerLink } from '../workers/worker-link.ts';

/** The parts that all networks of a gateway share. */
export interface NetworkParts {
  readonly settings: Settings;
  readonly bounds: ProcessBounds;
  readonly specs: readonly MethodSpec[];
  /** Request units in place of those in schemas/methods, for all networks. */
  readonly unitsTable: UnitsTable;
  readonly checks: ReadonlyMap<string, ParamCheck>;
  readonly resultCheck: ResultCheck;
  readonly metrics: Metrics;
  readonly usage: UsageLedger;
  readonly log: Log;
  /** Undefined: no parameters are shown. */
  readonly shownParams?: ShownParams;
  /** Undefined: upstream responses are not accounted. */
  readonly memory?: MemoryBudget;
  /** Undefined: responses are not cached. */
  readonly cache: ResponseCache | undefined;
  /** Undefined: results are in memory only. */
  readonly durable: DurableCache | undefined;
  /** Undefined: the gateway has one worker. */
  readonly link?: WorkerLink | undefined;
  /** Leases of the slots that the workers share, with `link`. */
  readonly leases?: SlotLeases | undefined;
  readonly localChains: LocalChains;
  /** All open upstreams by identity. A rebuilt network reuses those of equal identity and adds new ones. */
  readonly openUpstreams: Map<string, Upstream>;
}
