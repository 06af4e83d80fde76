import { collectDefaultMetrics, Registry } from 'prom-client';
import { instruments, metricLabels } from '../gateway/metrics/instruments.ts';
import { code, table } from './markdown-table.ts';

/** The text of docs/reference/metrics.md: every metric of the gateway, by name. */
export function metricsPage(): string {
  const rows = Object.entries(instruments).map(([name, { kind, labels, help }]) => [
    code(name),
    kind,
    labels.map(code).join(', '),
    help,
  ]);
  const labelRows = Object.entries(metricLabels).map(([label, values]) => [code(label), values]);
  return [
    '# Metrics',
    '',
    '`/metrics` has these metrics. [Monitoring](../runbook.md#metrics-and-health) describes how to scrape it, and the',
    '[alerts](../runbook.md#alerts) what to do when one fires. `npm run generate` writes this page from the code.',
    '',
    'Metrics with the label `key` exist only with `METRICS_PER_KEY=on`, and those of `CACHE_REDIS_URL` only if it is set.',
    'Besides these, `/metrics` has the standard `nodejs_…` and `process_…` metrics; `nodejs_eventloop_lag_p99_seconds` is the',
    'delay of the event loop: of several workers, their mean. A method has series from its first call on.',
    '',
    'The delay is measured each 10 ms from at most 0.5 s after the first call until a scrape that finds no call in the 5 s before; without',
    'scrapes, for 5 minutes. While it is not, only `nodejs_eventloop_lag_max_seconds` is above 0: it is the lateness of a timer of 500 ms,',
    'so a delay of up to 0.5 s can be missed, and a longer one is up to 0.5 s too short.',
    '',
    table([['name', 'kind', 'labels', 'meaning'], ...rows]),
    '',
    'The number of series is bounded, because the values of each label are:',
    '',
    table([['label', 'values'], ...labelRows]),
    '',
  ].join('\n');
}

/** The labels of every metric on `/metrics`, by name: those of the gateway and those that prom-client adds. */
export function labelsByMetric(): Map<string, readonly string[]> {
  const defaultMetrics = new Registry();
  collectDefaultMetrics({ register: defaultMetrics });
  const defaults = defaultMetrics.getMetricsAsArray() as unknown as readonly { name: string; labelNames?: string[] }[];
  return new Map([
    ...defaults.map(({ name, labelNames = [] }): [string, readonly string[]] => [name, labelNames]),
    ...Object.entries(instruments).map(([name, { labels }]): [string, readonly string[]] => [name, labels]),
  ]);
}
