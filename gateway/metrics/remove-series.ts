import type { Registry } from 'prom-client';

/** Of every kind of metric, what prom-client's types tell of each by itself. */
interface Metric {
  get(): Promise<{ values: readonly { labels: Readonly<Record<string, string>> }[] }>;
  remove(labels: Readonly<Record<string, string>>): void;
}

/** Removes all that is told of a network, or of one upstream of it, that is no more. */
export async function removeSeries(page: Registry, gone: { network: string; upstream?: string }): Promise<void> {
  const wanted = Object.entries(gone);
  const metrics = page.getMetricsAsArray() as unknown as readonly Metric[];
  for (const metric of metrics) {
    const { values } = await metric.get();
    for (const { labels } of values) {
      if (!wanted.every(([label, value]) => labels[label] === value)) continue;
      // A histogram's own, of each bucket.
      const own = Object.entries(labels).filter(([label]) => label !== 'le');
      metric.remove(Object.fromEntries(own));
    }
  }
}
