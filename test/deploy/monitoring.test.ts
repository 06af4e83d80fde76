import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../gateway/config/package.ts';
import { reasons } from '../../gateway/jsonrpc/errors.ts';
import type { FailureClass } from '../../gateway/upstreams/transport/upstream-response.ts';
import { everyInstrument, metricsPage } from '../../schemas/metrics-page.ts';
import { findProgram } from '../support/find-program.ts';
import { programs } from '../support/programs.ts';
import { readPromql } from './promql.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

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
const { groups } = parse(readFileSync(file('prometheus', 'alerts.yml'), 'utf8')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
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

describe('promtool', () => {
  let promtool: string;
  beforeAll(() => {
    promtool = findProgram(programs.promtool);
  }, 300_000);

  it.each([
    ['reads the configuration', ['check', 'config', file('prometheus', 'prometheus.yml')]],
    ['runs the tests of the alerts', ['test', 'rules', file('prometheus', 'alerts.test.yml')]],
  ])('%s', (_, command) => {
    expect(execFileSync(promtool, command, { encoding: 'utf8' })).toContain('SUCCESS');
  });
});

describe('each alert', () => {
  it('is tested with and without a problem', () => {
    const { tests } = parse(readFileSync(file('prometheus', 'alerts.test.yml'), 'utf8')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[];
    };
    const cases = tests.flatMap((test) => test.alert_rule_test);
    const names = rules.map(({ alert }) => alert);
    expect(cases.filter(({ exp_alerts }) => exp_alerts !== undefined).map(({ alertname }) => alertname)).toEqual(names);
    const quiet = cases.filter(({ exp_alerts }) => exp_alerts === undefined).map(({ alertname }) => alertname);
    expect([...new Set(quiet)].sort()).toEqual([...names].sort());
  });

  it('has a severity, a description and a section in the runbook', () => {
    const headings = readFileSync(join(packageRoot, 'docs', 'runbook.md'), 'utf8').match(/^## .*$/gm) ?? [];
    expect(headings).toEqual(rules.map(({ alert }) => `## ${alert}`));
    for (const { alert, labels, annotations } of rules) {
      expect(['warning', 'critical']).toContain(labels['severity']);
      expect(annotations).toMatchObject({
        summary: expect.any(String) as string,
        description: expect.any(String) as string,
      });
      expect(annotations['runbook_url']).toBe(`docs/runbook.md#${alert.toLowerCase()}`);
    }
  });
});

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
      if (isReason) expect(reasons).toEqual(expect.arrayContaining([...values]));
    }
  }
});

it('docs/metrics.md is as `npm run generate` writes it', () => {
  const page = readFileSync(join(packageRoot, 'docs', 'metrics.md'), 'utf8');
  expect(page, 'docs/metrics.md is stale: run `npm run generate`').toBe(metricsPage());
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
  for (const instrument of everyInstrument().getMetricsAsArray()) {
    const { name, labelNames = [] } = instrument as unknown as { name: string; labelNames?: string[] };
    found.set(name, [...labelNames, 'le', 'job', 'instance']);
  }
  return found;
}
