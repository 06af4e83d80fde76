import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../gateway/config/package.ts';
import { reasons } from '../../gateway/jsonrpc/errors.ts';
import type { FailureClass } from '../../gateway/upstreams/transport/upstream-response.ts';
import { labelsByMetric, metricsPage } from '../../schemas/metrics-page.ts';
import { alertRules } from './alert-rules.ts';
import { readPromql } from './promql.ts';

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

const file = (...path: string[]): string => join(packageRoot, 'deploy', ...path);
const rules = alertRules();
const dashboard = JSON.parse(readFileSync(file('grafana', 'dashboards', 'gatehouse.json'), 'utf8')) as Dashboard;
const variables = dashboard.templating.list;

const expressions = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
];
/** `label_values(<selector>, <label>)` is Grafana's. */
const lookups = variables.flatMap(({ name, definition }) => {
  const [, selector = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(definition ?? '') ?? [];
  return definition === undefined ? [] : [{ name, selector, label }];
});

const classes = Object.keys({
  transport: true,
  slow: true,
  malformed: true,
  disproved: true,
  unproven: true,
  'wrong-chain': true,
  rate: true,
  quota: true,
  auth: true,
  unsupported: true,
  'too-large': true,
  'not-found': true,
  'node-state': true,
  'no-block': true,
  unknown: true,
} satisfies Record<FailureClass, true>);

describe('each expression of alerts and dashboard', () => {
  const labelsOf = instruments();

  it.each(expressions)('%s: %s', (_, expression) => {
    check(expression);
  });

  it.each(lookups)('variable $name', ({ selector, label }) => {
    check(selector, label);
  });

  /** Metrics must be the gateway's, Node's or Prometheus' own, with their labels and existing values. */
  function check(expression: string, ...more: string[]): void {
    const { metrics, labels, wanted } = readPromql(expression);
    expect(metrics).not.toEqual([]);
    const known = metrics.map((metric) => [metric, labelsOf.get(metric.replace(/_(bucket|count|sum)$/, ''))] as const);
    expect(known.filter(([, has]) => has === undefined)).toEqual([]);
    const has = new Set(known.flatMap(([, own = []]) => own));
    expect([...labels, ...more].filter((label) => !has.has(label))).toEqual([]);
    for (const { label, values } of wanted) {
      if (label === 'class') expect(classes).toEqual(expect.arrayContaining([...values]));
      const isReason = label === 'outcome' && metrics.includes('gatehouse_calls_total');
      // A result that failed after its first byte is no rejection.
      if (isReason) expect([...reasons, 'incomplete']).toEqual(expect.arrayContaining([...values]));
    }
  }
});

it('docs/reference/metrics.md is as `npm run generate` writes it', () => {
  const page = readFileSync(join(packageRoot, 'docs/reference/metrics.md'), 'utf8');
  expect(page, 'docs/reference/metrics.md is stale: run `npm run generate`').toBe(metricsPage());
});

describe('the dashboard', () => {
  it('declares exactly the variables that it uses', () => {
    const text = JSON.stringify(dashboard.panels) + JSON.stringify(lookups);
    const used = [...text.matchAll(/\$\{?([a-z]\w*)/g)].map(([, name]) => name);
    expect([...new Set(used)].sort()).toEqual(variables.map(({ name }) => name).sort());
  });

  it('has no overlapping panels', () => {
    const places = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    );
    expect(new Set(places).size).toBe(places.length);
  });

  it('is in the folder that the provisioning reads', () => {
    const provider = parse(readFileSync(file('grafana', 'provisioning', 'dashboards', 'gatehouse.yaml'), 'utf8')) as {
      providers: { options: { path: string } }[];
    };
    const compose = parse(readFileSync(join(packageRoot, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
      services: { grafana: { volumes: string[] } };
    };
    const path = provider.providers[0]?.options.path;
    expect(compose.services.grafana.volumes).toContain(`./deploy/grafana/dashboards:${path}:ro`);
    expect(readdirSync(file('grafana', 'dashboards'))).toEqual(['gatehouse.json']);
  });
});

/** Labels by metric, with those that Prometheus adds. */
function instruments(): Map<string, readonly string[]> {
  const found = new Map([['up', ['job', 'instance']]]);
  for (const [name, labels] of labelsByMetric()) found.set(name, [...labels, 'le', 'job', 'instance']);
  return found;
}
