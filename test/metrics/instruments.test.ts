import { describe, expect, it } from 'vitest';
import { instruments, metricLabels } from '../../gateway/metrics/instruments.ts';

const rows = Object.entries(instruments).map(([name, row]) => ({ name, ...row }));

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
