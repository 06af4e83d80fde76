import type { Registry } from 'prom-client';

/** The members that every kind of metric has; prom-client's types declare them per kind only. */
interface Metric {
  get(): Promise<{ values: readonly { labels: Readonly<Record<string, string>> }[] }>;
  remove(labels: Readonly<Record<string, string>>): void;
}

/** Removes the series of a network, or of one upstream of it, after it was removed from the configuration. */
export async function removeSeries(page: Registry, removed: { network: string; upstream?: string }): Promise<void> {
  const wanted = Object.entries(removed);
  const metrics = page.getMetricsAsArray() as unknown as readonly Metric[];
  for (const metric of metrics) {
    const { values } = await metric.get();
    for (const { labels } of values) {
      if (!wanted.every(([label, value]) => labels[label] === value)) continue;
      // `le` is the bucket of a histogram, not a label of its child.
      const own = Object.entries(labels).filter(([label]) => label !== 'le');
      metric.remove(Object.fromEntries(own));
    }
  }
}
