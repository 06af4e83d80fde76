import type { Registry } from 'prom-client';
import { Metrics } from '../gateway/metrics/metrics.ts';
import { ReloadMeters } from '../gateway/metrics/reload-meters.ts';
import { code, table } from './markdown-table.ts';

interface Instrument {
  readonly name: string;
  readonly kind: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** The text of docs/metrics.md: every instrument of the gateway's own, by name. */
export function metricsPage(): string {
  const own = instruments(everyInstrument()).filter(({ name }) => name.startsWith('gatehouse_'));
  const rows = own.map(({ name, kind, labels, help }) => [code(name), kind, labels.map(code).join(', '), help]);
  return [
    '# Metrics',
    '',
    'What `/metrics` tells. This page is made by `npm run generate`. Those of keys are there with `METRICS_PER_KEY=on`, and',
    '`nodejs_…` and `process_…`, of Node itself, besides: `nodejs_eventloop_lag_p99_seconds` is how late the event loop is.',
    '',
    table([['name', 'kind', 'labels', 'meaning'], ...rows]),
    '',
  ].join('\n');
}

/** A registry with all instruments that there may be, those that settings call for among them. */
export function everyInstrument(): Registry {
  const metrics = new Metrics();
  metrics.watchKeys(() => ({ isUp: true, counts: {} }));
  metrics.watchLimits(() => ({}));
  metrics.keyMeter();
  new ReloadMeters(metrics.registry);
  return metrics.registry;
}

function instruments(registry: Registry): Instrument[] {
  return registry
    .getMetricsAsArray()
    .map((instrument) => {
      const {
        name,
        help,
        labelNames = [],
      } = instrument as unknown as { name: string; help: string; labelNames?: string[] };
      // Our own are named after what they are in place of.
      const kind = instrument.constructor.name.replace('Tallies', '').toLowerCase();
      return { name, kind, help, labels: labelNames };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
