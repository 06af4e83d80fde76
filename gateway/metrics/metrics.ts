import { collectDefaultMetrics, Registry } from 'prom-client';
import { clock } from '../clock/clock.ts';
import { version } from '../config/package.ts';
import { CallMetric } from './call-metrics.ts';
import { measureEventLoopDelay, UNUSED_PRECISION_MS } from './event-loop-delay.ts';
import { History, type ActiveUpstream, type Availability, type CircuitState, type HistoryBucket } from './history.ts';
import { instrumentNames, numbers, openMetric, watch, type NumberNameWith } from './instruments.ts';
import {
  networkMetrics,
  subscriptionMetrics,
  upstreamMetrics,
  type NetworkMetrics,
  type SubscriptionMetrics,
  type UpstreamSeries,
} from './series.ts';

/** The metrics of one upstream. */
export interface UpstreamMetrics extends UpstreamSeries {
  /** The requests of the last ten minutes, oldest first. */
  history(): readonly HistoryBucket[];
  /** Availability of the last 24 hours. */
  availability(): Availability | undefined;
}

/** Counts the outcome of one read or write of the durable cache. */
export type DurableCacheMetric = (
  outcome: 'found' | 'miss' | 'late' | 'failed' | 'not-requested' | 'written' | 'not-written',
) => void;

export interface WorkerCounts {
  readonly running: number;
  readonly ends: Readonly<Record<string, number>>;
}

const circuitNumbers: Readonly<Record<CircuitState, number>> = { closed: 0, 'half-open': 1, open: 2 };

/** The gauges of the upstreams of the active configuration; undefined: the upstream has no value. */
const activeGauges = [
  ['gatehouse_upstream_up', ({ circuit }) => Number(circuit === 'closed')],
  ['gatehouse_upstream_circuit_state', ({ circuit }) => circuitNumbers[circuit]],
  ['gatehouse_upstream_concurrency_limit', ({ concurrencyLimit }) => concurrencyLimit],
  ['gatehouse_upstream_batches_off', ({ isWithoutBatches }) => Number(isWithoutBatches)],
  ['gatehouse_upstream_drained_timestamp_seconds', ({ drainedS }) => drainedS],
] as const satisfies readonly [NumberNameWith<2>, (upstream: ActiveUpstream) => number | undefined][];

let ofProcess: Registry | undefined;

/** Metrics of the process, such as the delay of its event loop. Their observers observe until the process ends. */
function metricsOfProcess(): Registry {
  if (ofProcess !== undefined) return ofProcess;
  ofProcess = new Registry();
  collectDefaultMetrics({ register: ofProcess, eventLoopMonitoringPrecision: UNUSED_PRECISION_MS });
  measureEventLoopDelay(ofProcess);
  return ofProcess;
}

/** Every metric of the gateway, in one registry. Those that each call updates are bound once per network, upstream and method. */
export class Metrics {
  readonly registry = Registry.merge([metricsOfProcess()]);
  /** History that pages show. */
  readonly history = new History(this.registry);
  /**
   * The upstreams of the active configuration, read at each scrape. A replaced upstream that still has a call in progress
   * thus cannot overwrite the state of its successor of the same name.
   */
  activeUpstreams: () => readonly ActiveUpstream[] = () => [];

  constructor() {
    for (const name of instrumentNames) openMetric(this.registry, name);
    numbers(this.registry, 'gatehouse_build_info').labels(version, process.version).set(1);
    for (const [name, valueOf] of activeGauges)
      watch(this.registry, name, (set) => {
        for (const one of this.activeUpstreams()) {
          const value = valueOf(one);
          if (value !== undefined) set(value, one.network, one.upstream);
        }
      });
  }

  /** @param method the name of a method of the network, else `other` */
  callMetric(network: string, method: string): CallMetric {
    return new CallMetric(this.registry, network, method);
  }

  /** @param mayReveal whether its private transactions may be sent to other upstreams than its relays */
  networkMetrics(network: string, mayReveal = false): NetworkMetrics {
    return networkMetrics(this.registry, network, mayReveal);
  }

  /** @param kind from a closed list */
  subscriptionMetrics(network: string, kind: string): SubscriptionMetrics {
    return subscriptionMetrics(this.registry, network, kind);
  }

  /** @returns a function to call for each lookup in the response cache */
  cacheMetric(network: string, method: string): (outcome: 'hit' | 'disk' | 'redis' | 'miss') => void {
    const of = (outcome: string) =>
      numbers(this.registry, 'gatehouse_cache_lookups_total').labels(network, method, outcome);
    const counters = { hit: of('hit'), disk: of('disk'), redis: of('redis'), miss: of('miss') };
    return (outcome) => {
      counters[outcome].add();
    };
  }

  upstreamMetrics(network: string, upstream: string): UpstreamMetrics {
    return {
      ...upstreamMetrics(this.registry, network, upstream),
      history: () => this.history.bucketsOf(network, upstream),
      availability: () => this.history.availabilityOf(network, upstream),
    };
  }

  /** Counts a reload of the network files, if it is not the start of the gateway. */
  filesRead(outcome: 'applied' | 'rejected', isFirst = false): void {
    const reloads = numbers(this.registry, 'gatehouse_config_reloads_total');
    for (const each of ['applied', 'rejected']) reloads.labels(each).add(each === outcome && !isFirst ? 1 : 0);
    numbers(this.registry, 'gatehouse_config_last_reload_successful')
      .labels()
      .set(Number(outcome === 'applied'));
    const loadedAt = numbers(this.registry, 'gatehouse_config_last_reload_success_timestamp_seconds').labels();
    if (outcome === 'applied') loadedAt.set(clock.unixMs() / 1000);
  }

  rejected(reason: string): void {
    numbers(this.registry, 'gatehouse_http_rejections_total').labels(reason).add();
  }

  adminRejected(reason: string): void {
    numbers(this.registry, 'gatehouse_admin_rejections_total').labels(reason).add();
  }

  /** @returns counts by key id. Off by default (METRICS_PER_KEY), because each key in use adds label values. */
  keyMetric(): (key: string, amounts: Readonly<Record<'calls' | 'units' | 'errors' | 'bytes', number>>) => void {
    const calls = numbers(this.registry, 'gatehouse_key_calls_total');
    const units = numbers(this.registry, 'gatehouse_key_request_units_total');
    const errors = numbers(this.registry, 'gatehouse_key_errors_total');
    const bytes = numbers(this.registry, 'gatehouse_key_response_bytes_total');
    return (key, amounts) => {
      calls.labels(key).add(amounts.calls);
      units.labels(key).add(amounts.units);
      errors.labels(key).add(amounts.errors);
      bytes.labels(key).add(amounts.bytes);
    };
  }

  /** Watches quotas, only with METRICS_PER_KEY. @param read the quotas of accounts, called at each scrape */
  watchQuotas(read: () => Promise<readonly { account: string; period: string; size: number; used: number }[]>): void {
    watch(this.registry, 'gatehouse_key_quota_used_ratio', async (set) => {
      for (const { account, period, size, used } of await read()) set(used / size, account, period);
    });
  }

  /** @returns counts reads and writes of the durable cache */
  durableCache(): DurableCacheMetric {
    const operations = numbers(this.registry, 'gatehouse_cache_durable_operations_total');
    return (outcome) => {
      operations.labels(outcome).add();
    };
  }

  /** @param read the value, called at each scrape; undefined: not known */
  watchValue(name: NumberNameWith<0>, read: () => number | undefined): void {
    watch(this.registry, name, (set) => {
      const value = read();
      if (value !== undefined) set(value);
    });
  }

  /** @param read the count for each value of the label, called at each scrape */
  watchCounts(name: NumberNameWith<1>, read: () => Readonly<Record<string, number>>): void {
    watch(this.registry, name, (set) => {
      for (const [label, count] of Object.entries(read())) set(count, label);
    });
  }
}
