import { describe, expect, it } from 'vitest';
import { Registry } from 'prom-client';
import { instruments, metricLabels, openMetric } from '../../gateway/metrics/instruments.ts';
import { networkMetrics, subscriptionMetrics, upstreamMetrics } from '../../gateway/metrics/series.ts';
import type { NumberMetric } from '../../gateway/metrics/counters.ts';

const rows = Object.entries(instruments).map(([name, row]) => ({ name, ...row }));

it('rejects a series with another number of labels', () => {
  const metric = openMetric(new Registry(), 'gatehouse_failovers_total') as NumberMetric;
  expect(() => metric.labels('base')).toThrow('has the labels network, upstream, but got 1 values');
});

/** Further labels and the value of each update, as callers pass them. */
const bound = {
  networkMetrics: {
    metrics: networkMetrics(new Registry(), 'base', true),
    args: {
      ...{ failedOver: ['a'], hedged: ['won'], budgetExceeded: ['retry'], partSent: ['a', 'result'], split: ['range'] },
      ...{ head: [1], witnessesMissing: [true], auditing: [1], queued: [1], socketClosed: ['idle'] },
    },
  },
  upstreamMetrics: {
    metrics: upstreamMetrics(new Registry(), 'base', 'a'),
    args: {
      ...{ skipped: ['lag'], sentTransaction: ['known'], acceptedFirst: [1], succeeded: [1], failed: ['timeout', 1] },
      ...{
        unusable: ['malformed'],
        deviated: ['eth_call'],
        moved: [1],
        lag: [1],
        onOtherBranch: [true],
        polled: ['response'],
        audited: ['agrees'],
      },
    },
  },
  subscriptionMetrics: { metrics: subscriptionMetrics(new Registry(), 'base', 'logs'), args: { notified: [1] } },
};

it.each(Object.entries(bound))('%s: each update has all labels of its metric', (_, { metrics, args }) => {
  const given: Readonly<Record<string, readonly unknown[]>> = args;
  for (const [name, update] of Object.entries(metrics) as [string, (...args: unknown[]) => void][])
    expect(() => {
      update(...(given[name] ?? []));
    }, name).not.toThrow();
});

describe.each(rows)('$name', ({ name, kind, help, labels }) => {
  it('has a help text', () => {
    expect(help, `gateway/metrics: describe ${name} in \`help\``).toMatch(/^\S.{5,}[^.]$/);
  });

  it('has a unit in its name: _total for a counter, base units for other kinds', () => {
    const step = `gateway/metrics: end the name of the ${kind} ${name} with its unit`;
    expect(name.endsWith('_total'), `${step}: _total for counters only`).toBe(kind === 'counter');
    if (kind === 'histogram') expect(name, `${step}: _seconds or _bytes`).toMatch(/_(seconds|bytes)$/);
    expect(name, `${step}, in seconds and bytes`).not.toMatch(
      /_(ms|milliseconds|minutes|kb|mb|percent|count|sum|bucket)$/,
    );
  });

  it('has labels with bounded values', () => {
    const unbounded = labels.filter((label) => !Object.hasOwn(metricLabels, label));
    expect(unbounded, `gateway/metrics/instruments.ts: add what bounds each label of ${name}`).toEqual([]);
  });
});

it('every label is one of a metric', () => {
  const used = new Set(rows.flatMap(({ labels }): readonly string[] => labels));
  const unused = Object.keys(metricLabels).filter((label) => !used.has(label));
  expect(unused, 'gateway/metrics/instruments.ts: delete the labels that no metric has').toEqual([]);
});

it('are listed by name', () => {
  const names = rows.map(({ name }) => name);
  expect(names).toEqual(names.toSorted());
});
