import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { version } from '../config/package.ts';
import { AuditMetrics } from './audit-metrics.ts';
import { CacheMetrics } from './cache-metrics.ts';
import { CallMetrics, DURATION_BUCKETS_S } from './call-metrics.ts';
import { pressures, type Pressure } from '../memory/memory-pressure.ts';
import { NetworkHistory } from './network-history.ts';
import { BUCKET_MS, UpstreamHistory } from './upstream-history.ts';
import { HeadMetrics } from './head-metrics.ts';
import { SubscriptionMetrics } from './subscription-metrics.ts';
import type { SocketMetrics, UpstreamMetrics } from './instruments.ts';
import { RangeMetrics } from './range-metrics.ts';
import { RoutingMetrics } from './routing-metrics.ts';
import { CounterMetric, HistogramMetric } from './counters.ts';

interface WatchedMemory {
  readonly bytes: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly guard?: { readonly state: Pressure } | undefined;
}

/** Creates every metric of the gateway in one registry. Children are bound once per network, upstream and method. */
export class Metrics {
  readonly registry = new Registry();
  readonly calls = new CallMetrics(this.registry);
  readonly audits = new AuditMetrics(this.registry);
  readonly cache = new CacheMetrics(this.registry);
  readonly heads = new HeadMetrics(this.registry);
  readonly subscriptions = new SubscriptionMetrics(this.registry);
  readonly ranges = new RangeMetrics(this.registry);
  readonly routing = new RoutingMetrics(this.registry);
  readonly #attempts = new CounterMetric(
    {
      name: 'gatehouse_upstream_attempts_total',
      help: 'Requests sent to an upstream, by outcome (response, the failure class, or cancelled: the caller disconnected)',
      labelNames: ['network', 'upstream', 'outcome'],
    },
    this.registry,
  );
  readonly #attemptSeconds = new HistogramMetric(
    {
      name: 'gatehouse_upstream_attempt_duration_seconds',
      help: 'Duration of one request to an upstream, failures included',
      labelNames: ['network', 'upstream'],
      bounds: DURATION_BUCKETS_S,
    },
    this.registry,
  );
  readonly #deviations = new Counter({
    name: 'gatehouse_upstream_result_deviations_total',
    help: 'Results passed on that deviate from the spec; one per second of each upstream and method is checked',
    labelNames: ['network', 'upstream', 'method'] as const,
    registers: [this.registry],
  });
  readonly #unusable = new Counter({
    name: 'gatehouse_upstream_unusable_responses_total',
    help: 'Upstream responses after which another upstream was tried, by failure class; unknown: an error that no rule covers',
    labelNames: ['network', 'upstream', 'class'] as const,
    registers: [this.registry],
  });
  readonly #rejections = new Counter({
    name: 'gatehouse_http_rejections_total',
    help: 'HTTP requests, upgrades and WebSocket messages rejected as a whole, before any call in them was handled',
    labelNames: ['reason'] as const,
    registers: [this.registry],
  });
  readonly #socketsOpen = new Gauge({
    name: 'gatehouse_websockets_open',
    help: 'Open WebSockets of clients',
    labelNames: ['network'] as const,
    registers: [this.registry],
  });
  readonly #adminRejections = new Counter({
    name: 'gatehouse_admin_rejections_total',
    help: 'Requests of the admin API without access, by reason (missing-token, wrong-token, too-many-wrong-tokens, role)',
    labelNames: ['reason'] as const,
    registers: [this.registry],
  });
  readonly #socketsClosed = new Counter({
    name: 'gatehouse_websockets_closed_total',
    help: 'Closed WebSockets of clients, by reason (caller: closed by the client)',
    labelNames: ['network', 'reason'] as const,
    registers: [this.registry],
  });
  readonly #messages = new Counter({
    name: 'gatehouse_websocket_messages_total',
    help: 'Messages from WebSocket clients; each holds a call or a batch',
    labelNames: ['network'] as const,
    registers: [this.registry],
  });
  /** Recent requests of each upstream, for the status page. */
  readonly upstreamHistory = new UpstreamHistory({
    attempts: this.#attempts,
    attemptSeconds: this.#attemptSeconds,
    unusable: this.#unusable,
  });
  readonly networkHistory = new NetworkHistory({
    callSeconds: this.calls.seconds,
    cacheLookups: this.cache.lookupCounts,
  });
  #historyTimer: NodeJS.Timeout | undefined;

  constructor() {
    // Includes the delay of the event loop, as nodejs_eventloop_lag_….
    collectDefaultMetrics({ register: this.registry });
    new Gauge({
      name: 'gatehouse_build_info',
      help: 'Always 1; the labels hold the versions of Gatehouse and Node',
      labelNames: ['version', 'node'] as const,
      registers: [this.registry],
    }).set({ version, node: process.version }, 1);
  }

  /** Samples the metrics for the status page until `stopHistory`. */
  startHistory(): void {
    this.networkHistory.sample(performance.now());
    this.#historyTimer ??= setInterval(() => {
      this.networkHistory.sample(performance.now());
      void this.upstreamHistory.sample(this.routing.active());
    }, BUCKET_MS).unref();
  }

  stopHistory(): void {
    clearInterval(this.#historyTimer);
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
        this.#unusable.inc({ network, upstream, class: failure });
      },
      ...this.heads.upstreamMetrics(network, upstream),
      history: () => this.upstreamHistory.bucketsOf(network, upstream),
      availability: () => this.upstreamHistory.availabilityOf(network, upstream),
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
    const counter = (name: string, help: string): Counter<'key'> =>
      new Counter({ name, help, labelNames: ['key'] as const, registers: [this.registry] });
    const calls = counter('gatehouse_key_calls_total', 'Calls by key id, updated once a second');
    const units = counter('gatehouse_key_request_units_total', 'Request units by key id');
    const errors = counter('gatehouse_key_errors_total', 'Calls that returned an error, by key id');
    const bytes = counter('gatehouse_key_response_bytes_total', 'Bytes of responses before compression, by key id');
    return (key, amounts) => {
      calls.inc({ key }, amounts.calls);
      units.inc({ key }, amounts.units);
      errors.inc({ key }, amounts.errors);
      bytes.inc({ key }, amounts.bytes);
    };
  }

  /** @param read the memory budget, called at each scrape */
  watchMemory(read: () => WatchedMemory): void {
    new Gauge({
      name: 'gatehouse_memory_pressure',
      help: 'The memory of this process beside what it may use: 0, 1 (above 70 %: requests without a key and of the heaviest keys are rejected), 2 (above 85 %: all new requests are)',
      registers: [this.registry],
      collect() {
        this.set(pressures.indexOf(read().guard?.state ?? 'normal'));
      },
    });
    new Gauge({
      name: 'gatehouse_buffered_bytes',
      help: 'Bytes buffered for callers and upstreams, bounded by BODIES_MAX_BYTES',
      registers: [this.registry],
      collect() {
        this.set(read().bytes);
      },
    });
    this.#watchCounts(
      'gatehouse_memory_rejections_total',
      'Rejections for want of memory, by reason: budget (used up), share (of the key or address), requests (REQUESTS_MAX), connection (closed: its client does not read, or pipelines too much, or it is idle beyond CONNECTIONS_MAX)',
      'reason',
      () => read().counts,
    );
  }

  /** @param read the limiter's counts, called at each scrape */
  watchLimits(read: () => Readonly<Record<string, number>>): void {
    this.#watchCounts(
      'gatehouse_limit_checks_total',
      'Request bodies charged to a key with limits, by decision: redis, leased (from units reserved in advance), memory, without-redis (memory, Redis is unavailable), quota-unreachable (rejected, Redis is unavailable)',
      'outcome',
      read,
    );
  }

  /** @param read the key store's state and the authenticator's counts, called at each scrape */
  watchKeys(read: () => { isUp: boolean; counts: Readonly<Record<string, number>> }): void {
    new Gauge({
      name: 'gatehouse_key_store_up',
      help: '1 while the key store can be read and changed',
      registers: [this.registry],
      collect() {
        this.set(read().isUp ? 1 : 0);
      },
    });
    this.#watchCounts(
      'gatehouse_key_lookups_total',
      'Lookups of well-formed keys, by outcome: hit (in memory), stale (in memory, the store is unavailable), found, unknown, unreachable',
      'outcome',
      () => read().counts,
    );
  }

  #watchCounts(
    name: string,
    help: string,
    label: 'outcome' | 'reason',
    read: () => Readonly<Record<string, number>>,
  ): void {
    new Counter({
      name,
      help,
      labelNames: [label],
      registers: [this.registry],
      collect() {
        this.reset();
        for (const [value, count] of Object.entries(read())) this.inc({ [label]: value }, count);
      },
    });
  }
}
