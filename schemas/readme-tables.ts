import { settingRows } from '../gateway/config/settings.ts';
import { reasons, RpcError } from '../gateway/jsonrpc/errors.ts';
import { failoverSummary, faultSummary } from './fault-summary.ts';
import { notNull } from './json-schema.ts';
import { code, table } from './markdown-table.ts';
import type { MethodSource } from './read-sources.ts';

type Row = readonly string[];

type Method = Pick<MethodSource, 'name' | 'summary' | 'result' | 'errors' | 'x-gatehouse'>;

/**
 * README with its tables of methods, settings and errors as schemas and code have them, and of faults as they were
 * measured.
 * @param faults docs/faults.md
 */
export function withTables(readme: string, methods: readonly Method[], faults: string): string {
  const tables = {
    Methods: methodsTable(methods),
    Settings: settingsTable(),
    Errors: errorsTable(),
    'Faults, measured': faultSummary(faults),
    'When the first upstream dies': failoverSummary(faults),
  };
  return Object.entries(tables).reduce((text, [heading, rows]) => replaceTable(text, heading, rows), readme);
}

function methodsTable(methods: readonly Method[]): Row[] {
  return [['method', 'meaning'], ...methods.map((method) => [code(method.name), meaningOf(method)])];
}

function meaningOf({ summary, result, errors, 'x-gatehouse': notes }: Method): string {
  const sentences = [
    summary,
    ...(notNull(result.schema) === undefined ? [] : ['Or null.']),
    ...(errors.some(({ $ref }) => $ref.endsWith('/Reverted')) ? ['Or code 3 when it reverts.'] : []),
    ...(notes?.answer === 'local' ? ['Is answered by the gateway itself.'] : []),
  ];
  return sentences.join(' ');
}

function settingsTable(): Row[] {
  const rows = settingRows.map(({ name, default: value, meaning }) => [
    code(name),
    value === undefined ? 'unset' : code(value),
    meaning,
  ]);
  return [['name', 'default', 'meaning'], ...rows];
}

function errorsTable(): Row[] {
  const rows = reasons.map((reason) => {
    const { code: number, status, message } = new RpcError(reason);
    return [code(reason), String(number), String(status), message];
  });
  return [['reason (metric label)', 'code', 'HTTP', 'message'], ...rows];
}

/** The first table below a heading. */
function replaceTable(readme: string, heading: string, rows: readonly Row[]): string {
  const section = Math.max(readme.indexOf(`\n## ${heading}\n`), readme.indexOf(`\n### ${heading}\n`));
  const start = readme.indexOf('\n|', section) + 1;
  const end = /\n(?!\|)/.exec(readme.slice(start))?.index;
  if (section === -1 || start === 0 || end === undefined) throw new Error(`README.md has no table under ${heading}`);
  return readme.slice(0, start) + table(rows) + readme.slice(start + end);
}
