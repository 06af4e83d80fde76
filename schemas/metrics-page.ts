import type { Registry } from 'prom-client';
import { metricLabels } from '../gateway/metrics/labels.ts';
import { Metrics } from '../gateway/metrics/metrics.ts';
import { ReloadMetrics } from '../gateway/metrics/reload-metrics.ts';
import { code, table } from './markdown-table.ts';

interface Instrument {
  readonly name: string;
  readonly kind: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** The text of docs/metrics.md: every metric of the gateway, by name. */
export function metricsPage(): string {
  const rows = instruments().map(({ name, kind, labels, help }) => [
    code(name),
    kind,
    labels.map(code).join(', '),
    help,
  ]);
  const labelRows = Object.entries(metricLabels).map(([label, values]) => [code(label), values]);
  return [
    '# Metrics',
    '',
    'This page lets you look up every metric of the gateway: what it counts, and which labels it has. It is generated from',
    'the code by `npm run generate`. [Operations](operations.md#metrics-and-health) describes how to scrape `/metrics`, and',
    'the [runbook](runbook.md) what to do when an alert fires.',
    '',
    'Metrics with the label `key` exist only with `METRICS_PER_KEY=on`, and those of `CACHE_REDIS_URL` only if it is set.',
    'Besides these, `/metrics` has the standard `nodejs_…` and `process_…` metrics; `nodejs_eventloop_lag_p99_seconds` is the',
    'delay of the event loop.',
    '',
    table([['name', 'kind', 'labels', 'meaning'], ...rows]),
    '',
    'The number of series is bounded, because the values of each label are:',
    '',
    table([['label', 'values'], ...labelRows]),
    '',
  ].join('\n');
}

/** A registry with every instrument, those that depend on settings included. */
export function everyInstrument(): Registry {
  const metrics = new Metrics();
  metrics.watchKeys(() => ({ isUp: true, counts: {} }));
  metrics.watchLimits(() => ({}));
  metrics.watchMemory(() => ({ bytes: 0, counts: {} }));
  metrics.keyMetric();
  metrics.cache.watch(() => ({ entries: 0, bytes: 0 }));
  metrics.cache.redisCache();
  new ReloadMetrics(metrics.registry);
  return metrics.registry;
}

/** The metrics of the gateway itself, by name. */
export function instruments(): Instrument[] {
  return everyInstrument()
    .getMetricsAsArray()
    .filter(({ name }) => name.startsWith('gatehouse_'))
    .map((instrument) => {
      const {
        name,
        help,
        labelNames = [],
      } = instrument as unknown as { name: string; help: string; labelNames?: string[] };
      // The name of a class in counters.ts starts with the name of the prom-client class that it replaces.
      const [kind = ''] = /^(counter|gauge|histogram)/.exec(instrument.constructor.name.toLowerCase()) ?? [];
      return { name, kind, help, labels: labelNames };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
