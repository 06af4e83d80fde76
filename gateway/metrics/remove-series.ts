import type { Registry } from 'prom-client';
import { HistogramMetric, NumberMetric } from './counters.ts';

/** Removes the series of a network, or of one upstream of it, after it was removed from the configuration. */
export function removeSeries(page: Registry, removed: { network: string; upstream?: string }): void {
  for (const metric of page.getMetricsAsArray() as readonly unknown[])
    if (metric instanceof NumberMetric || metric instanceof HistogramMetric) metric.remove(removed);
}
