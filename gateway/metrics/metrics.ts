import { collectDefaultMetrics, Registry } from 'prom-client';
import { clock } from '../clock/clock.ts';
import { version } from '../config/package.ts';
import { pressures, type Pressure } from '../memory/memory-pressure.ts';
import { AuditMetrics } from './audit-metrics.ts';
import { CallMetric } from './call-metrics.ts';
import { HeadMetrics, type UpstreamHeadMetrics } from './head-metrics.ts';
import { History, type Availability, type HistoryBucket } from './history.ts';
import { histogram, instrumentNames, numbers, openMetric, watch } from './instruments.ts';
import { RoutingMetrics, type SelectionMetrics } from './routing-metrics.ts';

/** The metrics of one upstream. Times are in seconds. */
export interface UpstreamMetrics extends SelectionMetrics, UpstreamHeadMetrics {
  succeeded(durationS: number): void;
  failed(failure: string, durationS: number): void;
  unusable(failure: string): void;
  /** A forwarded result deviates from the spec. */
  deviated(method: string): void;
  /** The requests of the last ten minutes, oldest first. */
  history(): readonly HistoryBucket[];
  /** Availability of the last 24 hours. */
  availability(): Availability | undefined;
}

/** The metrics of the WebSockets of one network. */
export interface SocketMetrics {
  opened(): void;
  /** @param reason from a closed list */
  closed(reason: string): void;
  /** A message was received. */
  received(): void;
}

/** Counts the outcome of one read or write of the durable cache. */
export type DurableCacheMetric = (
  outcome: 'found' | 'miss' | 'late' | 'failed' | 'not-requested' | 'written' | 'not-written',
) => void;

interface WatchedMemory {
  readonly bytes: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly guard?: { readonly state: Pressure } | undefined;
}

export interface WorkerCounts {
  readonly running: number;
  readonly ends: Readonly<Record<string, number>>;
}

let ofProcess: Registry | undefined;

/** The delay of the event loop, as nodejs_eventloop_lag_…, and others. Their observers observe until the process ends. */
function metricsOfProcess(): Registry {
  if (ofProcess === undefined) collectDefaultMetrics({ register: (ofProcess = new Registry()) });
  return ofProcess;
}

/** Every metric of the gateway, in one registry. Those that each call updates are bound once per network, upstream and method. */
export class Metrics {
  readonly registry = Registry.merge([metricsOfProcess()]);
  readonly audits = new AuditMetrics(this.registry);
  readonly heads = new HeadMetrics(this.registry);
  readonly routing = new RoutingMetrics(this.registry);
  /** History that pages show. */
  readonly history = new History(this.registry);

  constructor() {
    for (const name of instrumentNames) openMetric(this.registry, name);
    numbers(this.registry, 'gatehouse_build_info').labels(version, process.version).set(1);
  }

  /** @param method the name of a method of the network, else `other` */
  callMetric(network: string, method: string): CallMetric {
    return new CallMetric(this.registry, network, method);
  }

  /** @returns a function to call with 1 when a call is queued, and with -1 when it leaves the queue */
  queueMetric(network: string): (change: 1 | -1) => void {
    const queued = numbers(this.registry, 'gatehouse_calls_queued').labels(network);
    queued.add(0);
    return queued.add.bind(queued);
  }

  /** @returns a function to call for each coalesced call */
  coalescedMetric(network: string): () => void {
    const coalesced = numbers(this.registry, 'gatehouse_calls_coalesced_total').labels(network);
    return () => {
      coalesced.add();
    };
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
    const seconds = histogram(this.registry, 'gatehouse_upstream_attempt_duration_seconds').labels(network, upstream);
    const attempts = numbers(this.registry, 'gatehouse_upstream_attempts_total');
    const successes = attempts.labels(network, upstream, 'response');
    return {
      ...this.routing.upstreamMetrics(network, upstream),
      succeeded: (durationS) => {
        successes.add();
        seconds.observe(durationS);
      },
      failed: (failure, durationS) => {
        attempts.labels(network, upstream, failure).add();
        seconds.observe(durationS);
      },
      deviated: (method) => {
        numbers(this.registry, 'gatehouse_upstream_result_deviations_total').labels(network, upstream, method).add();
      },
      unusable: (failure) => {
        numbers(this.registry, 'gatehouse_upstream_unusable_responses_total').labels(network, upstream, failure).add();
      },
      ...this.heads.upstreamMetrics(network, upstream),
      history: () => this.history.bucketsOf(network, upstream),
      availability: () => this.history.availabilityOf(network, upstream),
    };
  }

  socketMetrics(network: string): SocketMetrics {
    const open = numbers(this.registry, 'gatehouse_websockets_open').labels(network);
    const messages = numbers(this.registry, 'gatehouse_websocket_messages_total').labels(network);
    open.add(0);
    return {
      opened: () => {
        open.add(1);
      },
      closed: (reason) => {
        open.add(-1);
        numbers(this.registry, 'gatehouse_websockets_closed_total').labels(network, reason).add();
      },
      received: () => {
        messages.add();
      },
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

  /** @param bytes of the entries on disk, called at each scrape */
  watchDiskCache(bytes: () => number): void {
    this.#watchValue('gatehouse_cache_disk_bytes', bytes);
  }

  /** @param read size of the cache in memory, called at each scrape */
  watchCache(read: () => { readonly entries: number; readonly bytes: number }): void {
    this.#watchValue('gatehouse_cache_entries', () => read().entries);
    this.#watchValue('gatehouse_cache_bytes', () => read().bytes);
  }

  /** @param read the memory budget, called at each scrape */
  watchMemory(read: () => WatchedMemory): void {
    this.#watchValue('gatehouse_memory_pressure', () => pressures.indexOf(read().guard?.state ?? 'normal'));
    this.#watchValue('gatehouse_buffered_bytes', () => read().bytes);
    this.#watchCounts('gatehouse_memory_rejections_total', () => read().counts);
  }

  /** @param read the limiter's counts, called at each scrape */
  watchLimits(read: () => Readonly<Record<string, number>>): void {
    this.#watchCounts('gatehouse_limit_checks_total', read);
  }

  /** @param read the charges of callers without a key, called at each scrape */
  watchPublic(read: () => { counts: Readonly<Record<string, number>>; readonly size: number }): void {
    this.#watchCounts('gatehouse_public_charges_total', () => read().counts);
    this.#watchValue('gatehouse_public_addresses', () => read().size);
  }

  /** @param read the workers of the machine, called at each scrape */
  watchWorkers(read: () => WorkerCounts): void {
    this.#watchValue('gatehouse_workers', () => read().running);
    this.#watchCounts('gatehouse_worker_ends_total', () => read().ends);
  }

  /** @param read the key store's state and the authenticator's counts, called at each scrape */
  watchKeys(read: () => { isUp: boolean; counts: Readonly<Record<string, number>> }): void {
    this.#watchValue('gatehouse_key_store_up', () => Number(read().isUp));
    this.#watchCounts('gatehouse_key_lookups_total', () => read().counts);
  }

  /** @param read the part of Redis' memory that is used, called at each scrape; undefined: not known */
  watchRedis(read: () => number | undefined): void {
    this.#watchValue('gatehouse_redis_memory_used_ratio', read);
  }

  #watchValue(
    name: `gatehouse_${'cache_disk_bytes' | 'cache_entries' | 'cache_bytes' | 'memory_pressure' | 'buffered_bytes' | 'public_addresses' | 'workers' | 'key_store_up' | 'redis_memory_used_ratio'}`,
    read: () => number | undefined,
  ): void {
    watch(this.registry, name, (set) => {
      const value = read();
      if (value !== undefined) set(value);
    });
  }

  #watchCounts(
    name: `gatehouse_${'memory_rejections' | 'limit_checks' | 'public_charges' | 'worker_ends' | 'key_lookups'}_total`,
    read: () => Readonly<Record<string, number>>,
  ): void {
    watch(this.registry, name, (set) => {
      for (const [label, count] of Object.entries(read())) set(count, label);
    });
  }
}
