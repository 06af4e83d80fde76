import type { Gate } from '../admission/gate.ts';
import type { Verifier } from '../verify/verifier.ts';
import type { ChainPoller } from '../chain/poller.ts';
import type { NetworkMetrics } from '../metrics/series.ts';
import type { Balance, ReplaceableConfig } from '../network-files/network-config.ts';
import type { VerifyOptions } from '../network-files/options/verify-option.ts';
import type { PermittedUpstreams } from '../routing-policy/permitted-upstreams.ts';
import type { FailsafeTable } from '../routing/failsafe-table.ts';
import { HedgeDelay } from '../routing/hedge-delay.ts';
import { Ranking } from '../routing/ranking.ts';
import { RetryBudget } from '../routing/retry-budget.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import type { InspectOptions } from '../upstreams/inspect-result.ts';
import { SentTransactions } from '../upstreams/transactions/sent-transactions.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { MethodVerification } from './verification.ts';

interface RouterOptions extends InspectOptions {
  /** Which upstreams may get which method. */
  readonly permitted: PermittedUpstreams<Upstream>;
  readonly transactions: ReplaceableConfig['transactions'];
  /** Relays of the network; undefined: it has none. */
  readonly relays: ReplaceableConfig['private'];
  /** Times and attempts by method. */
  readonly failsafe: FailsafeTable<Upstream>;
  /** When a null is confirmed. */
  readonly confirmNull: VerifyOptions['nulls'];
  /** A development chain, whose node may remove blocks, or return an error for a transaction that it mines. */
  readonly isDevelopment: boolean;
  readonly balance: Balance;
  /** An upstream further behind is skipped; undefined: by the block time of the network. */
  readonly maxLagBlocks: number | undefined;
  readonly metrics: NetworkMetrics;
  readonly chain: ChainPoller<Upstream>;
  readonly slots: Gate;
  readonly verifier: Verifier;
  readonly verificationOf: (method: string) => MethodVerification;
}

/** The upstreams of one network, and what their selection depends on. It sends nothing: `forward.ts` does. */
export class Router {
  /** All upstreams, in the order of the network file. */
  readonly all: readonly Upstream[];
  readonly options: RouterOptions;
  /** Limits the callers' calls in progress at the upstreams. */
  readonly slots: Gate;
  /** The newest blocks of the network: `chain.view`. */
  readonly chain: ChainPoller<Upstream>;
  /** The upstreams whose heads may be polled. */
  readonly headSources: readonly Upstream[];
  /** Whether there is one upstream only: blocks and heads are not compared between upstreams. */
  readonly isAlone: boolean;
  readonly hasArchives: boolean;
  readonly ranking: Ranking<Upstream>;
  readonly budget: RetryBudget;
  /** Delay of hedges; undefined: no call is hedged. */
  readonly hedgeDelay: HedgeDelay | undefined;
  readonly sent: SentTransactions;

  /** @param previous of the same network before a reload: what it has learned is continued */
  constructor(all: readonly Upstream[], options: RouterOptions, previous?: Router) {
    const { permitted, failsafe, isDevelopment, balance, chain, log } = options;
    this.all = all;
    this.options = options;
    this.chain = chain;
    this.slots = options.slots;
    this.headSources = permitted.sourcesOf(nodeMethods.blockByNumber);
    this.isAlone = all.length === 1;
    this.hasArchives = !this.isAlone && all.some(({ blocks }) => blocks.isArchive);
    this.ranking = new Ranking(all, balance, previous?.ranking);
    this.budget = previous?.budget ?? new RetryBudget();
    if (failsafe.hasHedges && !this.isAlone) this.hedgeDelay = new HedgeDelay(previous?.hedgeDelay);
    const lookups = permitted.sourcesOf(nodeMethods.transactionByHash);
    this.sent = new SentTransactions({ log, all, lookups, isDevelopment }, previous?.sent);
  }
}
