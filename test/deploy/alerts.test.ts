import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../gateway/config/package.ts';
import { alertRules } from './alert-rules.ts';

const folder = join(packageRoot, 'deploy', 'prometheus');
const read = (name: string): unknown => parse(readFileSync(join(folder, name), 'utf8'));
const testFiles = readdirSync(folder).filter((name) => name.endsWith('.test.yml'));
const rules = alertRules();
const names = rules.map(({ alert }) => alert);

interface RuleTest {
  readonly name: string;
  readonly alert_rule_test: readonly {
    readonly eval_time: string;
    readonly alertname: string;
    readonly exp_alerts?: readonly unknown[];
  }[];
}

describe('each alert', () => {
  const tests = testFiles.flatMap((name) => (read(name) as { tests: readonly RuleTest[] }).tests);

  it.each(names)('%s is tested for firing, for resolving, and for not firing on noise', (alert) => {
    const own = tests
      .filter(({ name }) => name.startsWith(`${alert}: `))
      .map(({ name, alert_rule_test: checks }) => ({ name, checks: checks.filter((one) => one.alertname === alert) }));
    const firesAndResolves = own.filter(({ checks }) => {
      const firing = checks.findIndex(({ exp_alerts = [] }) => exp_alerts.length > 0);
      return firing !== -1 && checks.slice(firing + 1).some(({ exp_alerts }) => exp_alerts === undefined);
    });
    expect(firesAndResolves).not.toEqual([]);
    const quiet = own.filter(({ name }) => name.startsWith(`${alert}: noise: `));
    expect(quiet).not.toEqual([]);
    for (const { checks } of quiet) {
      expect(checks).not.toEqual([]);
      expect(checks.filter(({ exp_alerts }) => exp_alerts !== undefined)).toEqual([]);
    }
  });

  it('has a severity, a description and a section in the runbook, to which the external label leads', () => {
    const headings = readFileSync(join(packageRoot, 'docs', 'runbook.md'), 'utf8').match(/^### Gatehouse.*$/gm) ?? [];
    expect(headings).toEqual(names.map((alert) => `### ${alert}`));
    const page = '{{ with $externalLabels.runbook }}{{ . }}{{ else }}docs/runbook.md{{ end }}';
    for (const { alert, labels, annotations } of rules) {
      expect(['warning', 'critical']).toContain(labels['severity']);
      expect(annotations).toMatchObject({
        summary: expect.any(String) as string,
        description: expect.any(String) as string,
        runbook_url: `${page}#${alert.toLowerCase()}`,
      });
    }
  });
});

describe('the example for Alertmanager', () => {
  interface Route {
    readonly receiver: string;
    readonly matchers?: readonly string[];
    readonly routes?: readonly Route[];
  }
  const {
    route,
    receivers,
    inhibit_rules: inhibitions,
  } = read('alertmanager.yml') as {
    route: Route;
    receivers: readonly { readonly name: string }[];
    inhibit_rules: readonly {
      readonly source_matchers: readonly string[];
      readonly target_matchers: readonly string[];
    }[];
  };

  it('has a receiver for each route, and pages for critical alerts only', () => {
    const routes = [route, ...(route.routes ?? [])];
    expect(routes.map(({ receiver }) => receiver).sort()).toEqual(receivers.map(({ name }) => name).sort());
    expect(route.routes).toMatchObject([{ matchers: ['severity = critical'], receiver: 'pager' }]);
  });

  it('names existing alerts only', () => {
    const matchers = inhibitions.flatMap((one) => [...one.source_matchers, ...one.target_matchers]);
    const named = matchers.flatMap((matcher) => matcher.match(/Gatehouse\w+/g) ?? []);
    expect(named.length).toBeGreaterThan(matchers.length - 1);
    expect(named.filter((name) => !names.includes(name))).toEqual([]);
  });
});
