import type { Aggregator, Registry } from 'prom-client';
import { skipReasonNames } from '../routing-policy/skip-reasons.ts';
import { HistogramMetric, NumberMetric } from './counters.ts';

/** Every label of the gateway's metrics, with what bounds its values: a caller must not be able to add a series. */
export const metricLabels = {
  network: 'slug of a network file',
  upstream: 'name of an upstream in a network file',
  method: 'name of a method of the network, else `other`',
  outcome: 'one of the outcomes in the meaning of the metric',
  reason: 'one of the reasons in [errors](../errors.md), or in the meaning of the metric',
  rule: 'field of a [key](../keys.md), or bound of a network',
  class: 'one of the failure classes of an upstream response',
  kind: 'one of the kinds of `eth_subscribe`',
  event: '`started`, `won` or `lost`',
  proof: '`hash`, `root`, `proof`, `agreed` or `no`',
  what: '`retry` or `hedge`',
  key: 'id of a key in use, or `team:<name>`; only with `METRICS_PER_KEY=on`',
  period: '`day` or `month`',
  version: 'version of Gatehouse',
  node: 'version of Node',
} as const satisfies Readonly<Record<string, string>>;

type Labels = readonly (keyof typeof metricLabels)[];

/** @returns a function that makes rows: `together` aggregates the values of several workers */
function rowsOf<const Kind extends 'counter' | 'gauge' | 'histogram'>(kind: Kind) {
  return <const Names extends Labels>(labels: Names, help: string, together: Aggregator = 'sum') =>
    ({ kind, labels, help, together }) as const;
}

const [counter, gauge, histogramOf] = [rowsOf('counter'), rowsOf('gauge'), rowsOf('histogram')];

/** Every metric of the gateway. `/metrics`, docs/reference/metrics.md and the checks of alerts and dashboards are derived from it. */
export const instruments = {
  gatehouse_admin_rejections_total: counter(
    ['reason'],
    'Requests of the admin API without access, by reason (missing-token, wrong-token, too-many-wrong-tokens, role)',
  ),
  gatehouse_audits_in_progress: gauge(
    ['network'],
    'Audits that have begun and not ended; only with `verify: observe` in the network file',
  ),
  gatehouse_audits_total: counter(
    ['network', 'upstream', 'outcome'],
    'Audits in which the upstream took part, and its results that were checked (`verify`), by outcome: agrees, differs (from other upstreams, or from the hash of its own header), cannot-tell (not comparable)',
  ),
  gatehouse_buffered_bytes: gauge([], 'Bytes buffered for callers and upstreams, bounded by BODIES_MAX_BYTES'),
  gatehouse_build_info: gauge(
    ['version', 'node'],
    'Always 1; the labels hold the versions of Gatehouse and Node',
    'first',
  ),
  gatehouse_cache_bytes: gauge([], 'Approximate memory of the response cache'),
  gatehouse_cache_disk_bytes: gauge([], 'Bytes of the cached results in the file cache.db, which workers share', 'max'),
  gatehouse_cache_durable_operations_total: counter(
    ['outcome'],
    'Reads and writes of the durable cache (cache.db, or CACHE_REDIS_URL), by outcome: found, miss, late (Redis took more than 20 ms), failed, not-requested (Redis is unavailable or was late); written, not-written (too large, too many, or the cache is unavailable)',
  ),
  gatehouse_cache_entries: gauge([], 'Entries in the response cache'),
  gatehouse_cache_lookups_total: counter(
    ['network', 'method', 'outcome'],
    'Lookups in the response cache, by outcome: hit (in memory), disk (in cache.db), redis (in CACHE_REDIS_URL), miss (sent to an upstream)',
  ),
  gatehouse_call_duration_seconds: histogramOf(['network', 'method'], 'Time from a call to its response'),
  gatehouse_calls_coalesced_total: counter(['network'], 'Calls coalesced with an identical call in progress'),
  gatehouse_calls_in_flight: gauge(['network'], 'Calls in progress'),
  gatehouse_calls_queued: gauge(
    ['network'],
    'Calls queued because 1000 calls of their network are in progress at its upstreams',
  ),
  gatehouse_calls_total: counter(
    ['network', 'method', 'outcome'],
    'Calls by network, method (other: not served, or not attributable) and outcome (result, null, revert, upstream-error, caller-left (cancelled), incomplete (failed after its first byte), or the reason of a rejection)',
  ),
  gatehouse_config_last_reload_success_timestamp_seconds: gauge(
    [],
    'Unix time in seconds at which the active configuration was read',
    'min',
  ),
  gatehouse_config_last_reload_successful: gauge(
    [],
    '0 if the network files were rejected when last read, else 1',
    'min',
  ),
  gatehouse_config_reloads_total: counter(
    ['outcome'],
    'Reloads of the network files, by outcome: applied, or rejected (the previous configuration stays active)',
  ),
  gatehouse_failovers_total: counter(
    ['network', 'upstream'],
    'Attempts after another upstream failed, by the upstream tried instead',
  ),
  gatehouse_head_notifications_total: counter(
    ['network', 'upstream'],
    'New heads received from an upstream over its WebSocket',
  ),
  gatehouse_head_polls_total: counter(
    ['network', 'upstream', 'outcome'],
    'Polls of an upstream for its head and for missing headers, and probes, by outcome (response, the failure class, or paused: not sent, because it requested a pause)',
  ),
  gatehouse_hedges_total: counter(
    ['network', 'event'],
    'Hedged requests to a second upstream: started, then won (the second responded first) or lost',
  ),
  gatehouse_http_rejections_total: counter(
    ['reason'],
    'HTTP requests, upgrades and WebSocket messages rejected as a whole, before any call in them was handled',
  ),
  gatehouse_irregular_logs_total: counter(
    ['network'],
    'Lists of logs that were returned although they are out of order, or have two logs with one index, two hashes for one height, a removed log or one without a place: none of the upstreams that got the call, two as a rule, had another list',
  ),
  gatehouse_key_calls_total: counter(['key'], 'Calls by key id, updated once a second'),
  gatehouse_key_errors_total: counter(['key'], 'Calls that returned an error, by key id'),
  gatehouse_key_lookups_total: counter(
    ['outcome'],
    'Lookups of well-formed keys, by outcome: hit (in memory), stale (in memory, the store is unavailable), found, unknown, unreachable',
  ),
  gatehouse_key_quota_used_ratio: gauge(
    ['key', 'period'],
    'Used share of the quota of a key, or of `team:<name>`, by period: day, month; of keys that this gateway has charged since its start',
    'max',
  ),
  gatehouse_key_rejections_total: counter(
    ['network', 'rule'],
    'Calls, requests and upgrades that a permission, limit or bound rejected, by its name',
  ),
  gatehouse_key_request_units_total: counter(['key'], 'Request units by key id'),
  gatehouse_key_response_bytes_total: counter(['key'], 'Bytes of responses before compression, by key id'),
  gatehouse_key_store_up: gauge([], '1 while the key store can be read and changed', 'min'),
  gatehouse_limit_checks_total: counter(
    ['outcome'],
    'Request bodies charged to a key with limits, and requests to upstreams with a rate, by decision: redis, primary (of several workers, without Redis), memory (without Redis, far from all limits, or used up), without-redis (memory, Redis is unavailable), quota-unreachable (rejected, Redis is unavailable)',
  ),
  gatehouse_memory_pressure: gauge(
    [],
    'The memory of this process beside what it may use: 0, 1 (above 70 %: requests without a key and of the heaviest keys are rejected), 2 (above 85 %: all new requests are)',
    'max',
  ),
  gatehouse_memory_rejections_total: counter(
    ['reason'],
    'Rejections for want of memory, by reason: budget (used up), share (of the key or address), requests (in progress), connection (closed: its client does not read, or pipelines too much, or it is idle beyond CONNECTIONS_MAX)',
  ),
  gatehouse_network_head_block: gauge(
    ['network'],
    "Number of the network's latest block, as its healthy upstreams agree; followed only while the network is in use",
    'max',
  ),
  gatehouse_network_witnesses_missing: gauge(
    ['network'],
    '1 while fewer groups of upstreams have the newest blocks than must have those on which proofs rest',
    'max',
  ),
  gatehouse_notifications_total: counter(
    ['network', 'kind'],
    'Notifications sent to subscribers, by kind of subscription',
  ),
  // An address may be known to several workers.
  gatehouse_public_addresses: gauge(
    [],
    'Addresses, networks and senders without a key whose use this gateway counts; only with `public` in a network file',
    'max',
  ),
  gatehouse_public_charges_total: counter(
    ['outcome'],
    'Request bodies of callers without a key, by outcome: taken; rejected by the limit of the address, its network or the sender (address), by that of addresses for which there is no place (table-full), or by the limits of all together (total)',
  ),
  gatehouse_range_parts_total: counter(
    ['network', 'upstream', 'outcome'],
    'Parts of ranges of blocks that were sent to an upstream, by outcome: result, too-large (its parts are narrower for 10 min), failed',
  ),
  gatehouse_range_splits_total: counter(
    ['network', 'reason'],
    'Ranges and parts that were divided, by reason: range, results or addresses (an upstream rejected it), learned (known before it was sent)',
  ),
  gatehouse_redis_memory_used_ratio: gauge(
    [],
    'Memory that the Redis of the keys uses, of its maxmemory (0: it has none), of a cluster that of the fullest primary; read once a minute, only with REDIS_URL and the right to INFO',
    'max',
  ),
  gatehouse_retry_budget_exhausted_total: counter(
    ['network', 'what'],
    'Retries and hedges not made because the retry budget of the network was used up',
  ),
  gatehouse_subscriptions_open: gauge(
    ['network', 'kind'],
    'Open subscriptions of WebSocket clients, by kind (newHeads, logs, newPendingTransactions, transactionReceipts, syncing)',
  ),
  gatehouse_transactions_acceptance_duration_seconds: histogramOf(
    ['network', 'upstream'],
    'Time from the first request with a transaction to its first acceptance, by the upstream that accepted it',
  ),
  gatehouse_transactions_revealed_total: counter(
    ['network'],
    'Private transactions that upstreams other than the relays got, because no relay responded within `fallbackAfterMs`',
  ),
  gatehouse_transactions_total: counter(
    ['network', 'upstream', 'outcome'],
    'Transactions sent to an upstream, by outcome: accepted, known (it had the transaction), rejected (an error about the transaction), late (no response in time, or accepted after the caller got an error), failed (any other upstream failure)',
  ),
  gatehouse_upstream_attempt_duration_seconds: histogramOf(
    ['network', 'upstream'],
    'Duration of one request to an upstream, failures included',
  ),
  gatehouse_upstream_attempts_total: counter(
    ['network', 'upstream', 'outcome'],
    'Requests sent to an upstream, by outcome (response, the failure class, or cancelled: the caller disconnected)',
  ),
  gatehouse_upstream_batches_off: gauge(
    ['network', 'upstream'],
    'Whether calls of client batches are sent singly, because the upstream rejected a batch or works on its calls one by one: 1 or 0',
    'max',
  ),
  gatehouse_upstream_circuit_state: gauge(
    ['network', 'upstream'],
    'Circuit breaker: 0 closed, 1 half-open (single calls are tried), 2 open (the upstream is skipped)',
    'max',
  ),
  gatehouse_upstream_concurrency_limit: gauge(
    ['network', 'upstream'],
    'Calls that may be in progress at the upstream, as found by refusals and slow lookups; others wait',
  ),
  gatehouse_upstream_drained_timestamp_seconds: gauge(
    ['network', 'upstream'],
    'Unix time in seconds at which an operator drained the upstream; only of drained upstreams',
    'max',
  ),
  gatehouse_upstream_head_block: gauge(
    ['network', 'upstream'],
    'Latest block number seen at the upstream; followed only while the network is in use',
    'max',
  ),
  gatehouse_upstream_head_lag_blocks: gauge(
    ['network', 'upstream'],
    "Blocks by which the upstream was behind the network's head when last polled",
    'max',
  ),
  gatehouse_upstream_head_moved_timestamp_seconds: gauge(
    ['network', 'upstream'],
    'Unix time in seconds at which that number last changed',
    'max',
  ),
  gatehouse_upstream_on_other_branch: gauge(
    ['network', 'upstream'],
    '1 if the upstream is marked: it has other blocks than upstreams of at least two groups, and of more than have its blocks',
    'max',
  ),
  gatehouse_upstream_result_deviations_total: counter(
    ['network', 'upstream', 'method'],
    'Results passed on that deviate from the spec; one per second of each upstream and method is checked',
  ),
  gatehouse_upstream_skipped_total: counter(
    ['network', 'upstream', 'reason'],
    `Calls for which the upstream was skipped at first selection, by skip reason (${skipReasonNames.join(', ')})`,
  ),
  gatehouse_upstream_unusable_responses_total: counter(
    ['network', 'upstream', 'class'],
    'Upstream responses after which another upstream was tried, by failure class; unknown: an error that no rule covers',
  ),
  gatehouse_upstream_up: gauge(
    ['network', 'upstream'],
    '1 unless calls, polls or probes of the upstream fail by its own fault (its circuit is not closed)',
    'min',
  ),
  gatehouse_verified_results_total: counter(
    ['network', 'method', 'proof'],
    'Results by what proves them; only of bodies with `verify` in the network file, the key or the header',
  ),
  gatehouse_websocket_messages_total: counter(
    ['network'],
    'Messages from WebSocket clients; each holds a call or a batch',
  ),
  gatehouse_websockets_closed_total: counter(
    ['network', 'reason'],
    'Closed WebSockets of clients, by reason (caller: closed by the client)',
  ),
  gatehouse_websockets_open: gauge(['network'], 'Open WebSockets of clients'),
  gatehouse_worker_ends_total: counter(
    ['reason'],
    'Workers that ended while the gateway runs, by reason: crashed, or hung (5 s without a turn of the event loop); each is replaced',
    'max',
  ),
  // Of the worker that responds: it reads the number for each page.
  gatehouse_workers: gauge([], 'Worker processes that serve calls; 1 if the gateway is one process', 'first'),
} as const;

type Instruments = typeof instruments;
type NameOf<Kind> = {
  [Name in keyof Instruments]: Instruments[Name]['kind'] extends Kind ? Name : never;
}[keyof Instruments];
type TextsOf<Labels extends readonly unknown[]> = { readonly [Index in keyof Labels]: string };
export type NumberName = NameOf<'counter' | 'gauge'>;
export type HistogramName = NameOf<'histogram'>;
/** Names of the counters and gauges with so many labels. */
export type NumberNameWith<Labels extends number> = {
  [Name in NumberName]: Instruments[Name]['labels']['length'] extends Labels ? Name : never;
}[NumberName];
/** A text for each label, in the order of the table. */
type LabelsOf<Name extends keyof Instruments> = TextsOf<Instruments[Name]['labels']>;

/** Names of all instruments but those of single keys, which are on the page with METRICS_PER_KEY only. */
export const instrumentNames = (Object.keys(instruments) as (keyof Instruments)[]).filter(
  (name) => !instruments[name].labels.some((label) => label === 'key'),
);

/** The metric with this name; created if the page does not have it. */
export function openMetric(page: Registry, name: keyof Instruments): unknown {
  const known: unknown = page.getSingleMetric(name);
  if (known !== undefined) return known;
  const { kind: type, help, labels: labelNames, together: aggregator } = instruments[name];
  return new (type === 'histogram' ? HistogramMetric : NumberMetric)(
    { name, help, type, labelNames, aggregator },
    page,
  );
}

/** The counter or gauge with this name. */
export function numbers<Name extends NumberName>(page: Registry, name: Name): NumberMetric<LabelsOf<Name>> {
  return openMetric(page, name) as NumberMetric<LabelsOf<Name>>;
}

/** The histogram with this name. */
export function histogram<Name extends HistogramName>(page: Registry, name: Name): HistogramMetric<LabelsOf<Name>> {
  return openMetric(page, name) as HistogramMetric<LabelsOf<Name>>;
}

/** @param read calls `set` with each value at each scrape */
export function watch<Name extends NumberName>(
  page: Registry,
  name: Name,
  read: (set: (value: number, ...labels: LabelsOf<Name>) => void) => void | Promise<void>,
): void {
  const metric = numbers(page, name);
  metric.collect = () => {
    metric.remove();
    return read((value, ...labels) => {
      metric.labels(...labels).set(value);
    });
  };
}
