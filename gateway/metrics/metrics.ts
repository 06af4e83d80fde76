import { collectDefaultMetrics, Registry } from 'prom-client';
import { version } from '../config/package.ts';
import { AuditMetrics } from './audit-metrics.ts';
import { CacheMetrics } from './cache-metrics.ts';
import { CallMetrics } from './call-metrics.ts';
import { pressures, type Pressure } from '../memory/memory-pressure.ts';
import { History, type Availability, type HistoryBucket } from './history.ts';
import { HeadMetrics, type UpstreamHeadMetrics } from './head-metrics.ts';
import { SubscriptionMetrics } from './subscription-metrics.ts';
import { counter, fastCounter, fastHistogram, gauge } from './instruments.ts';
import { RangeMetrics } from './range-metrics.ts';
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

/** Creates every metric of the gateway in one registry. Children are bound once per network, upstream and method. */
export class Metrics {
  readonly registry = Registry.merge([metricsOfProcess()]);
  readonly calls = new CallMetrics(this.registry);
  readonly audits = new AuditMetrics(this.registry);
  readonly cache = new CacheMetrics(this.registry);
  readonly heads = new HeadMetrics(this.registry);
  readonly subscriptions = new SubscriptionMetrics(this.registry);
  readonly ranges = new RangeMetrics(this.registry);
  readonly routing = new RoutingMetrics(this.registry);
  readonly #attempts = fastCounter(this.registry, 'gatehouse_upstream_attempts_total');
  readonly #attemptSeconds = fastHistogram(this.registry, 'gatehouse_upstream_attempt_duration_seconds');
  readonly #deviations = counter(this.registry, 'gatehouse_upstream_result_deviations_total');
  readonly #unusable = fastCounter(this.registry, 'gatehouse_upstream_unusable_responses_total');
  readonly #rejections = counter(this.registry, 'gatehouse_http_rejections_total');
  readonly #socketsOpen = gauge(this.registry, 'gatehouse_websockets_open');
  readonly #adminRejections = counter(this.registry, 'gatehouse_admin_rejections_total');
  readonly #socketsClosed = counter(this.registry, 'gatehouse_websockets_closed_total');
  readonly #messages = counter(this.registry, 'gatehouse_websocket_messages_total');
  readonly history = new History({
    calls: this.calls.counts,
    callSeconds: this.calls.seconds,
    cacheLookups: this.cache.lookupCounts,
    attempts: this.#attempts,
    attemptSeconds: this.#attemptSeconds,
    unusable: this.#unusable,
  });

  constructor() {
    gauge(this.registry, 'gatehouse_build_info').set({ version, node: process.version }, 1);
  }

  upstreamMetrics(network: string, upstream: string): UpstreamMetrics {
    const seconds = this.#attemptSeconds.labels(network, upstream);
    const successes = this.#attempts.labels(network, upstream, 'response');
    return {
      ...this.routing.upstreamMetrics(network, upstream),
      succeeded: (durationS) => {
        successes.value++;
        seconds.observe(durationS);
      },
      failed: (failure, durationS) => {
        this.#attempts.labels(network, upstream, failure).value++;
        seconds.observe(durationS);
      },
      deviated: (method) => {
        this.#deviations.inc({ network, upstream, method });
      },
      unusable: (failure) => {
        this.#unusable.labels(network, upstream, failure).value++;
      },
      ...this.heads.upstreamMetrics(network, upstream),
      history: () => this.history.bucketsOf(network, upstream),
      availability: () => this.history.availabilityOf(network, upstream),
    };
  }

  socketMetrics(network: string): SocketMetrics {
    const open = this.#socketsOpen.labels(network);
    const messages = this.#messages.labels(network);
    open.inc(0);
    return {
      opened: () => {
        open.inc();
      },
      closed: (reason) => {
        open.dec();
        this.#socketsClosed.inc({ network, reason });
      },
      received: () => {
        messages.inc();
      },
    };
  }

  rejected(reason: string): void {
    this.#rejections.inc({ reason });
  }

  adminRejected(reason: string): void {
    this.#adminRejections.inc({ reason });
  }

  /** Creates the counters by key id. Off by default (METRICS_PER_KEY), because each key in use adds label values. */
  keyMetric(): (key: string, amounts: Readonly<Record<'calls' | 'units' | 'errors' | 'bytes', number>>) => void {
    const calls = counter(this.registry, 'gatehouse_key_calls_total');
    const units = counter(this.registry, 'gatehouse_key_request_units_total');
    const errors = counter(this.registry, 'gatehouse_key_errors_total');
    const bytes = counter(this.registry, 'gatehouse_key_response_bytes_total');
    return (key, amounts) => {
      calls.inc({ key }, amounts.calls);
      units.inc({ key }, amounts.units);
      errors.inc({ key }, amounts.errors);
      bytes.inc({ key }, amounts.bytes);
    };
  }

  /** Only with METRICS_PER_KEY. @param read the quotas of accounts, called at each scrape */
  watchQuotas(read: () => Promise<readonly { account: string; period: string; size: number; used: number }[]>): void {
    gauge(this.registry, 'gatehouse_key_quota_used_ratio', async (ratios) => {
      const quotas = await read();
      ratios.reset();
      for (const { account: key, period, size, used } of quotas) ratios.set({ key, period }, used / size);
    });
  }

  /** @param read the memory budget, called at each scrape */
  watchMemory(read: () => WatchedMemory): void {
    gauge(this.registry, 'gatehouse_memory_pressure', (pressure) => {
      pressure.set(pressures.indexOf(read().guard?.state ?? 'normal'));
    });
    gauge(this.registry, 'gatehouse_buffered_bytes', (bytes) => {
      bytes.set(read().bytes);
    });
    counter(this.registry, 'gatehouse_memory_rejections_total', (rejections) => {
      rejections.reset();
      for (const [reason, count] of Object.entries(read().counts)) rejections.inc({ reason }, count);
    });
  }

  /** @param read the limiter's counts, called at each scrape */
  watchLimits(read: () => Readonly<Record<string, number>>): void {
    this.#countOutcomes('gatehouse_limit_checks_total', read);
  }

  /** @param read the charges of callers without a key, called at each scrape */
  watchPublic(read: () => { counts: Readonly<Record<string, number>>; readonly size: number }): void {
    this.#countOutcomes('gatehouse_public_charges_total', () => read().counts);
    gauge(this.registry, 'gatehouse_public_addresses', (addresses) => {
      addresses.set(read().size);
    });
  }

  /** @param read the workers of the machine, called at each scrape */
  watchWorkers(read: () => WorkerCounts): void {
    gauge(this.registry, 'gatehouse_workers', (workers) => {
      workers.set(read().running);
    });
    counter(this.registry, 'gatehouse_worker_ends_total', (ends) => {
      ends.reset();
      for (const [reason, count] of Object.entries(read().ends)) ends.inc({ reason }, count);
    });
  }

  /** @param read the key store's state and the authenticator's counts, called at each scrape */
  watchKeys(read: () => { isUp: boolean; counts: Readonly<Record<string, number>> }): void {
    gauge(this.registry, 'gatehouse_key_store_up', (isUp) => {
      isUp.set(read().isUp ? 1 : 0);
    });
    this.#countOutcomes('gatehouse_key_lookups_total', () => read().counts);
  }

  /** @param read the part of Redis' memory that is used, called at each scrape; undefined: not known */
  watchRedis(read: () => number | undefined): void {
    gauge(this.registry, 'gatehouse_redis_memory_used_ratio', (ratio) => {
      const usedPart = read();
      if (usedPart === undefined) ratio.remove();
      else ratio.set(usedPart);
    });
  }

  #countOutcomes(
    name: 'gatehouse_limit_checks_total' | 'gatehouse_key_lookups_total' | 'gatehouse_public_charges_total',
    read: () => Readonly<Record<string, number>>,
  ): void {
    counter(this.registry, name, (outcomes) => {
      outcomes.reset();
      for (const [outcome, count] of Object.entries(read())) outcomes.inc({ outcome }, count);
    });
  }
}
