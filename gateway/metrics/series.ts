import type { Registry } from 'prom-client';
import { clock } from '../clock/clock.ts';
import type { SkipReason } from '../routing-policy/skip-reasons.ts';
import { HistogramMetric, NumberMetric } from './counters.ts';
import { histogram, numbers, type HistogramName, type NumberName } from './instruments.ts';

/** Outcome of a transaction that was sent to an upstream: see gatehouse_transactions_total. */
export type SentOutcome = 'accepted' | 'known' | 'rejected' | 'late' | 'failed';

/** `cannot-tell`: the upstreams could not be compared at the same block. */
export const auditOutcomes = ['agrees', 'differs', 'cannot-tell'] as const;
export type AuditOutcome = (typeof auditOutcomes)[number];

export type PartOutcome = 'result' | 'too-large' | 'failed';

/** `learned`: no upstream allows the range, as far as is known, so it was not sent as it is. */
export type SplitReason = 'range' | 'results' | 'addresses' | 'none' | 'learned';

/** An update of a metric, for the labels that are bound: those of a network, of an upstream, or of a kind of subscription. */
type Update<Args extends readonly unknown[]> = (page: Registry, bound: readonly string[]) => (...args: Args) => void;

type BoundSeries<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends Update<infer Args> ? (...args: Args) => void : never;
};

/** Updates of a network. */
const networkSeries = {
  /** An upstream is tried after another one failed. */
  failedOver: countsBy<[upstream: string]>('gatehouse_failovers_total'),
  hedged: countsBy<[event: 'started' | 'won' | 'lost']>('gatehouse_hedges_total'),
  /** The retry budget did not allow a retry or a hedge. */
  budgetExceeded: countsBy<[what: 'retry' | 'hedge']>('gatehouse_retry_budget_exhausted_total'),
  /** A list of logs that are not in order was returned, because no upstream has another one. */
  returnedIrregular: counts('gatehouse_irregular_logs_total'),
  /** A private transaction is sent to upstreams that are no relays. */
  revealed: counts('gatehouse_transactions_revealed_total'),
  partSent: countsBy<[upstream: string, outcome: PartOutcome]>('gatehouse_range_parts_total'),
  split: countsBy<[reason: SplitReason]>('gatehouse_range_splits_total'),
  head: sets<number>('gatehouse_network_head_block'),
  /** Fewer groups have the newest blocks than must have those on which proofs rest. */
  witnessesMissing: sets<boolean>('gatehouse_network_witnesses_missing'),
  /** Audits that begin, less those that end. */
  auditing: adds<number>('gatehouse_audits_in_progress'),
  /** A call is coalesced. */
  coalesced: counts('gatehouse_calls_coalesced_total'),
  /** A call is queued, or leaves the queue. */
  queued: adds<1 | -1>('gatehouse_calls_queued'),
  socketOpened: counts('gatehouse_websockets_open'),
  /** The reason is from a closed list. */
  socketClosed: (page: Registry, [network = '']: readonly string[]) => {
    const open = numbers(page, 'gatehouse_websockets_open').labels(network);
    return (reason: string) => {
      open.add(-1);
      numbers(page, 'gatehouse_websockets_closed_total').labels(network, reason).add();
    };
  },
  socketReceived: counts('gatehouse_websocket_messages_total'),
};

/** Updates of an upstream. Requests for heads are counted as polls, and not among the attempts, which are for calls. */
const upstreamSeries = {
  skipped: countsBy<[reason: SkipReason]>('gatehouse_upstream_skipped_total'),
  sentTransaction: countsBy<[outcome: SentOutcome]>('gatehouse_transactions_total'),
  /** The upstream is the first that accepted a transaction, after so many seconds. */
  acceptedFirst: observes('gatehouse_transactions_acceptance_duration_seconds'),
  succeeded: (page: Registry, [network = '', upstream = '']: readonly string[]) => {
    const successes = numbers(page, 'gatehouse_upstream_attempts_total').labels(network, upstream, 'response');
    const seconds = histogram(page, 'gatehouse_upstream_attempt_duration_seconds').labels(network, upstream);
    return (durationS: number) => {
      successes.add();
      seconds.observe(durationS);
    };
  },
  failed: (page: Registry, [network = '', upstream = '']: readonly string[]) => {
    const attempts = numbers(page, 'gatehouse_upstream_attempts_total');
    const seconds = histogram(page, 'gatehouse_upstream_attempt_duration_seconds').labels(network, upstream);
    return (failure: string, durationS: number) => {
      attempts.labels(network, upstream, failure).add();
      seconds.observe(durationS);
    };
  },
  unusable: countsBy<[failure: string]>('gatehouse_upstream_unusable_responses_total'),
  /** A forwarded result deviates from the spec. */
  deviated: countsBy<[method: string]>('gatehouse_upstream_result_deviations_total'),
  moved: (page: Registry, [network = '', upstream = '']: readonly string[]) => {
    const block = numbers(page, 'gatehouse_upstream_head_block').labels(network, upstream);
    const movedAt = numbers(page, 'gatehouse_upstream_head_moved_timestamp_seconds').labels(network, upstream);
    return (number: number) => {
      block.set(number);
      movedAt.set(clock.unixMs() / 1000);
    };
  },
  /** Distance to the head of the network, in blocks. */
  lag: sets<number>('gatehouse_upstream_head_lag_blocks'),
  /** Whether it is marked as being on another branch. */
  onOtherBranch: sets<boolean>('gatehouse_upstream_on_other_branch'),
  /** `response`, or the failure class. */
  polled: countsBy<[outcome: string]>('gatehouse_head_polls_total'),
  /** Begins the series of audits at 0, so that alerts notice the first difference. */
  auditsBegun: (page: Registry, [network = '', upstream = '']: readonly string[]) => {
    const audits = numbers(page, 'gatehouse_audits_total');
    return () => {
      for (const outcome of auditOutcomes) audits.labels(network, upstream, outcome).add(0);
    };
  },
  audited: countsBy<[outcome: AuditOutcome]>('gatehouse_audits_total'),
  /** A new head was received over the WebSocket. */
  notified: counts('gatehouse_head_notifications_total'),
};

/** Updates of the subscriptions of one kind on a network. */
const subscriptionSeries = {
  opened: counts('gatehouse_subscriptions_open'),
  closed: counts('gatehouse_subscriptions_open', -1),
  /** Number of notifications that were sent. */
  notified: adds<number>('gatehouse_notifications_total'),
};

export type NetworkMetrics = BoundSeries<typeof networkSeries>;
export type UpstreamSeries = BoundSeries<typeof upstreamSeries>;
export type SubscriptionMetrics = BoundSeries<typeof subscriptionSeries>;

/**
 * Binds the updates of a network. Series that begin at 0 are on the page before the first update, so that it is seen as an
 * increase.
 * @param mayReveal whether its private transactions may be sent to other upstreams than its relays
 */
export function networkMetrics(page: Registry, network: string, mayReveal: boolean): NetworkMetrics {
  const begun = ['gatehouse_websockets_open', 'gatehouse_calls_queued'] as const;
  for (const name of mayReveal ? [...begun, 'gatehouse_transactions_revealed_total' as const] : begun)
    numbers(page, name).labels(network).add(0);
  return bind(networkSeries, page, [network]);
}

export function upstreamMetrics(page: Registry, network: string, upstream: string): UpstreamSeries {
  return bind(upstreamSeries, page, [network, upstream]);
}

export function subscriptionMetrics(page: Registry, network: string, kind: string): SubscriptionMetrics {
  numbers(page, 'gatehouse_subscriptions_open').labels(network, kind).set(0);
  return bind(subscriptionSeries, page, [network, kind]);
}

/** Removes the series of a network, or of one upstream of it, after it was removed from the configuration. */
export function removeSeries(page: Registry, removed: { network: string; upstream?: string }): void {
  for (const metric of page.getMetricsAsArray() as readonly unknown[])
    if (metric instanceof NumberMetric || metric instanceof HistogramMetric) metric.remove(removed);
}

function bind<Table extends object>(table: Table, page: Registry, bound: readonly string[]): BoundSeries<Table> {
  const updates = Object.entries(table).map(([name, update]: [string, Update<never>]) => [name, update(page, bound)]);
  return Object.fromEntries(updates) as BoundSeries<Table>;
}

/** The child whose labels are all bound. It has no value until its first update. */
function childOf(page: Registry, name: NumberName, bound: readonly string[]) {
  return (numbers(page, name) as NumberMetric).labels(...bound);
}

function counts(name: NumberName, by: 1 | -1 = 1): Update<[]> {
  return (page, bound) => {
    const child = childOf(page, name, bound);
    return () => {
      child.add(by);
    };
  };
}

/** Adds 1 to the child of further labels, in the order of the table of instruments. */
function countsBy<Labels extends readonly string[]>(name: NumberName): Update<Labels> {
  return (page, bound) => {
    const metric = numbers(page, name) as NumberMetric;
    return (...labels) => {
      metric.labels(...bound, ...labels).add();
    };
  };
}

function adds<Count extends number>(name: NumberName): Update<[count: Count]> {
  return (page, bound) => {
    const child = childOf(page, name, bound);
    return child.add.bind(child);
  };
}

function sets<Value extends number | boolean>(name: NumberName): Update<[value: Value]> {
  return (page, bound) => {
    const child = childOf(page, name, bound);
    return (value) => {
      child.set(Number(value));
    };
  };
}

function observes(name: HistogramName): Update<[seconds: number]> {
  return (page, bound) => {
    const child = (histogram(page, name) as HistogramMetric).labels(...bound);
    return child.observe.bind(child);
  };
}
