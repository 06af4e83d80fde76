import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { version } from '../config/package.ts';
import { CacheMetrics } from './cache-metrics.ts';
import { CallMeter } from './call-meter.ts';
import { UpstreamHistory } from './upstream-history.ts';
import { HeadMetrics } from './head-metrics.ts';
import { SubscriptionMetrics } from './subscription-metrics.ts';
import type { SocketMeters, UpstreamMeters } from './meters.ts';
import { RoutingMetrics } from './routing-metrics.ts';

/** 1 ms to 30 s: what stands between a cached answer and the longest call that a wallet waits for. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Every instrument of the gateway. Children are bound once per network, upstream and method: a look-up of labels on each call costs 2.6 µs. */
export class Metrics {
  readonly registry = new Registry();
  readonly cache = new CacheMetrics(this.registry);
  readonly heads = new HeadMetrics(this.registry);
  readonly subscriptions = new SubscriptionMetrics(this.registry);
  readonly routing = new RoutingMetrics(this.registry);
  readonly #calls = new Counter({
    name: 'gatehouse_calls_total',
    help: 'Calls by network, method (other: not served, or not to be told) and outcome (result, null, revert, node-error, caller-left (broken off), or the reason of a refusal)',
    labelNames: ['network', 'method', 'outcome'] as const,
    registers: [this.registry],
  });
  readonly #callSeconds = new Histogram({
    name: 'gatehouse_call_duration_seconds',
    help: 'Time from a call to its answer',
    labelNames: ['network', 'method'] as const,
    buckets: SECONDS,
    registers: [this.registry],
  });
  readonly #callsInFlight = new Gauge({
    name: 'gatehouse_calls_in_flight',
    help: 'Calls under way',
    labelNames: ['network'] as const,
    registers: [this.registry],
  });
  readonly #callsQueued = new Gauge({
    name: 'gatehouse_calls_queued',
    help: 'Calls that wait because NETWORK_CONCURRENCY of their network are with its upstreams',
    labelNames: ['network'] as const,
    registers: [this.registry],
  });
  readonly #attempts = new Counter({
    name: 'gatehouse_upstream_attempts_total',
    help: 'Requests sent to an upstream, by outcome (reply, the class of failure where none came, or cancelled: nobody waited any more)',
    labelNames: ['network', 'upstream', 'outcome'] as const,
    registers: [this.registry],
  });
  readonly #attemptSeconds = new Histogram({
    name: 'gatehouse_upstream_attempt_duration_seconds',
    help: 'Time that an upstream took for one request, failures included',
    labelNames: ['network', 'upstream'] as const,
    buckets: SECONDS,
    registers: [this.registry],
  });
  readonly #deviations = new Counter({
    name: 'gatehouse_upstream_result_deviations_total',
    help: 'Results passed on that are not quite as the spec says; one a second of each upstream and method is looked at',
    labelNames: ['network', 'upstream', 'method'] as const,
    registers: [this.registry],
  });
  readonly #unusable = new Counter({
    name: 'gatehouse_upstream_unusable_replies_total',
    help: 'Replies of an upstream for which another one was asked, by class; unknown: an error that no rule knows',
    labelNames: ['network', 'upstream', 'class'] as const,
    registers: [this.registry],
  });
  readonly #refusals = new Counter({
    name: 'gatehouse_http_refusals_total',
    help: 'HTTP requests, upgrades and WebSocket messages refused as a whole, before any call in them was looked at',
    labelNames: ['reason'] as const,
    registers: [this.registry],
  });
  readonly #socketsOpen = new Gauge({
    name: 'gatehouse_websockets_open',
    help: 'WebSockets of callers',
    labelNames: ['network'] as const,
    registers: [this.registry],
  });
  readonly #socketsClosed = new Counter({
    name: 'gatehouse_websockets_closed_total',
    help: 'WebSockets of callers that ended, by reason (caller, or why we ended it)',
    labelNames: ['network', 'reason'] as const,
    registers: [this.registry],
  });
  readonly #messages = new Counter({
    name: 'gatehouse_websocket_messages_total',
    help: 'Messages of WebSocket callers; each holds a call or a batch',
    labelNames: ['network'] as const,
    registers: [this.registry],
  });
  /** Of upstreams, for people. */
  readonly upstreamHistory = new UpstreamHistory({
    attempts: this.#attempts,
    attemptSeconds: this.#attemptSeconds,
    unusable: this.#unusable,
  });
  constructor() {
    collectDefaultMetrics({ register: this.registry }); // event-loop delay among them, as nodejs_eventloop_lag_…
    new Gauge({
      name: 'gatehouse_build_info',
      help: 'Always 1; the labels tell what runs',
      labelNames: ['version', 'node'] as const,
      registers: [this.registry],
    }).set({ version, node: process.version }, 1);
  }

  /** @param method a method's name once the spec knows it, else `other` */
  callMeter(network: string, method: string): CallMeter {
    const inFlight = this.#callsInFlight.labels(network);
    // Shown from the start, and left as it is where calls are under way: networks are made anew.
    inFlight.inc(0);
    return new CallMeter(
      (outcome) => this.#calls.labels(network, method, outcome),
      this.#callSeconds.labels(network, method),
      inFlight,
    );
  }

  /** @returns what hears of each call that begins to wait, and of each that has ended to */
  queueMeter(network: string): (change: 1 | -1) => void {
    const queued = this.#callsQueued.labels(network);
    queued.inc(0);
    return queued.inc.bind(queued);
  }

  upstreamMeters(network: string, upstream: string): UpstreamMeters {
    const seconds = this.#attemptSeconds.labels(network, upstream);
    const replies = this.#attempts.labels(network, upstream, 'reply');
    return {
      ...this.routing.ofUpstream(network, upstream),
      answered: (took) => {
        replies.inc();
        seconds.observe(took);
      },
      failed: (failure, took) => {
        this.#attempts.inc({ network, upstream, outcome: failure });
        seconds.observe(took);
      },
      deviates: (method) => {
        this.#deviations.inc({ network, upstream, method });
      },
      unusable: (failure) => {
        this.#unusable.inc({ network, upstream, class: failure });
      },
      ...this.heads.upstreamMeters(network, upstream),
      history: () => this.upstreamHistory.of(network, upstream),
    };
  }

  socketMeters(network: string): SocketMeters {
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
      heard: () => {
        messages.inc();
      },
    };
  }

  refused(reason: string): void {
    this.#refusals.inc({ reason });
  }

  /** Counts what keys do, by their ids: as many label values as there are keys in use, so only where that is wished. */
  keyMeter(): (key: string, amounts: Readonly<Record<'calls' | 'units' | 'errors' | 'bytes', number>>) => void {
    const counter = (name: string, help: string): Counter<'key'> =>
      new Counter({ name, help, labelNames: ['key'] as const, registers: [this.registry] });
    const calls = counter('gatehouse_key_calls_total', 'Calls by key id, told once a second');
    const units = counter('gatehouse_key_units_total', 'Weights of calls that an upstream was asked for, by key id');
    const errors = counter('gatehouse_key_errors_total', 'Calls answered with an error, by key id');
    const bytes = counter('gatehouse_key_answer_bytes_total', 'Bytes of answers to calls, not compressed, by key id');
    return (key, amounts) => {
      calls.inc({ key }, amounts.calls);
      units.inc({ key }, amounts.units);
      errors.inc({ key }, amounts.errors);
      bytes.inc({ key }, amounts.bytes);
    };
  }

  /** Reads the limiter's counts whenever metrics are asked for. */
  watchLimits(read: () => Readonly<Record<string, number>>): void {
    new Counter({
      name: 'gatehouse_limit_checks_total',
      help: 'Bodies charged to a key with limits, by who decided: redis, leased (from what Redis gave in advance), memory, without-redis (memory, Redis is away), quota-unreachable (refused, Redis is away)',
      labelNames: ['outcome'] as const,
      registers: [this.registry],
      collect() {
        this.reset();
        for (const [outcome, count] of Object.entries(read())) this.inc({ outcome }, count);
      },
    });
  }

  /** Reads the key store's state and the authenticator's counts whenever metrics are asked for. */
  watchKeys(read: () => { isUp: boolean; counts: Readonly<Record<string, number>> }): void {
    new Gauge({
      name: 'gatehouse_key_store_up',
      help: '1 while the key store can be asked',
      registers: [this.registry],
      collect() {
        this.set(read().isUp ? 1 : 0);
      },
    });
    new Counter({
      name: 'gatehouse_key_lookups_total',
      help: 'Well-formed keys looked at: hit (in memory), stale (in memory, the store is away), found, unknown, unreachable',
      labelNames: ['outcome'] as const,
      registers: [this.registry],
      collect() {
        this.reset();
        for (const [outcome, count] of Object.entries(read().counts)) this.inc({ outcome }, count);
      },
    });
  }
}
