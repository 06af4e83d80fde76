import { describe, expect, it } from 'vitest';
import { metricLabels } from '../../gateway/metrics/labels.ts';
import { instruments } from '../../schemas/metrics-page.ts';

describe.each(instruments())('$name', ({ name, kind, help, labels }) => {
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
    expect(unbounded, `gateway/metrics/labels.ts: add what bounds each label of ${name}`).toEqual([]);
  });
});

it('every label is one of a metric', () => {
  const used = new Set(instruments().flatMap(({ labels }) => labels));
  const unused = Object.keys(metricLabels).filter((label) => !used.has(label));
  expect(unused, 'gateway/metrics/labels.ts: delete the labels that no metric has').toEqual([]);
});
