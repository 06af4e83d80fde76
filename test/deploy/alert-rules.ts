import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { packageRoot } from '../../gateway/config/package.ts';

export interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The rules of deploy/prometheus/alerts.yml. */
export function alertRules(): readonly Rule[] {
  const text = readFileSync(join(packageRoot, 'deploy', 'prometheus', 'alerts.yml'), 'utf8');
  const { groups } = parse(text) as { groups: { rules: Rule[] }[] };
  return groups.flatMap((group) => group.rules);
}
