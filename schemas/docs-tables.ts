import { exitCodes } from '../gateway/cli/exit-codes.ts';
import { settingRows } from '../gateway/config/settings.ts';
import { reasons, RpcError } from '../gateway/jsonrpc/errors.ts';
import type { PermissionRow as PermissionRow } from '../gateway/auth/permissions/field-kinds.ts';
import { permissionFields, permissionNames } from '../gateway/auth/permissions/permission-fields.ts';
import { skipReasonNames, skipReasons } from '../gateway/routing-policy/skip-reasons.ts';
import { loadNetworks } from '../gateway/network-files/load-networks.ts';
import { networkFile } from '../gateway/network-files/options/network-schema.ts';
import type { Option, OptionSchema, ValueSchema } from '../gateway/network-files/options/option.ts';
import { faultSummary } from './fault-summary.ts';
import { notNull } from './json-schema.ts';
import { code, table, type TableRow } from './markdown-table.ts';
import type { ProviderSource } from './provider-module.ts';
import type { MethodSource, NeverOpened } from './read-sources.ts';
import { patternsOf, rightRows } from './redis-rights.ts';
import { providerRows, unitsRows, type UnitsSources } from './units-tables.ts';

type Method = Pick<MethodSource, 'name' | 'summary' | 'result' | 'errors' | 'x-gatehouse'>;

export interface DocsSources extends UnitsSources {
  readonly methods: readonly Method[];
  readonly neverOpened: readonly NeverOpened[];
  readonly providerUrls: readonly ProviderSource[];
  /** Folder of the included network files. */
  readonly networks: string;
}

interface DocsTable {
  readonly page: string;
  /** The table is the first one under this heading. */
  readonly heading: string;
  /** @param page text of the page that the table is in */
  readonly rows: (sources: DocsSources, page: string) => readonly TableRow[];
}

/** The tables in docs/ that are generated from schemas, code, network files and measurements. */
const docsTables: readonly DocsTable[] = [
  { page: 'docs/reference/methods.md', heading: 'Standard methods', rows: methodRows },
  { page: 'docs/reference/methods.md', heading: 'Request units', rows: unitsRows },
  { page: 'docs/reference/methods.md', heading: 'Never opened by a wildcard', rows: neverOpenedRows },
  { page: 'docs/reference/methods.md', heading: 'Published units', rows: providerRows },
  { page: 'docs/reference/network-options.md', heading: 'Options', rows: networkOptionRows },
  { page: 'docs/networks.md', heading: 'Providers', rows: providerUrlRows },
  { page: 'docs/networks.md', heading: 'Networks included', rows: networkRows },
  { page: 'docs/keys.md', heading: 'Permissions and limits', rows: permissionRows },
  { page: 'docs/errors.md', heading: 'Errors of the gateway', rows: errorRows },
  { page: 'docs/routing.md', heading: 'Selection', rows: skipReasonRows },
  { page: 'docs/reference/commands.md', heading: 'Exit codes', rows: exitCodeRows },
  { page: 'docs/reference/settings.md', heading: 'Settings', rows: settingTableRows },
  { page: 'docs/scaling.md', heading: 'Rights of a Redis user', rows: redisRightRows },
  { page: 'docs/measured/faults.md', heading: 'Measured, in short', rows: (_sources, page) => faultSummary(page) },
];

/**
 * The pages with generated tables, by path.
 * @param read the text of a page as it is now
 * @throws Error if a page has no table under its heading
 */
export function docsPages(sources: DocsSources, read: (path: string) => string): Map<string, string> {
  const pages = new Map<string, string>();
  for (const { page, heading, rows } of docsTables) {
    const text = pages.get(page) ?? read(page);
    pages.set(page, replaceTable(page, text, heading, rows(sources, text)));
  }
  return pages;
}

function methodRows({ methods }: DocsSources): TableRow[] {
  return [['method', 'returns'], ...methods.map((method) => [code(method.name), meaningOf(method)])];
}

function meaningOf({ summary, result, errors, 'x-gatehouse': notes }: Method): string {
  const sentences = [
    summary,
    ...(notNull(result.schema) === undefined ? [] : ['Or null.']),
    ...(errors.some(({ $ref }) => $ref.endsWith('/Reverted')) ? ['Or code 3 on a revert.'] : []),
    ...(notes?.answer === 'local' ? ['Served by the gateway itself.'] : []),
  ];
  return sentences.join(' ');
}

function exitCodeRows(): TableRow[] {
  return [
    ['code', 'meaning'],
    ...Object.values(exitCodes).map(({ code: number, meaning }) => [String(number), meaning]),
  ];
}

function neverOpenedRows({ neverOpened }: DocsSources): TableRow[] {
  const rows = neverOpened.map(({ methods, effect, source }) => [methods.map(code).join(', '), effect, source]);
  return [['methods', 'what they change', 'source'], ...rows];
}

function networkOptionRows(): TableRow[] {
  return [['option', 'default', 'a change replaces', 'meaning'], ...optionRows(networkFile, '', '')];
}

function optionRows({ properties = {} }: ValueSchema, prefix: string, replacedWithMap: string): TableRow[] {
  const options: Readonly<Record<string, OptionSchema & Partial<Option<string>>>> = properties;
  // docs/keys.md has the fields of a key, which have the same meaning here.
  const own = Object.entries(options).filter(([name, option]) => !isOfKey(name, option));
  return own.flatMap(([name, option]) => {
    const { description, default: value, replaces = replacedWithMap, items, additionalProperties: member } = option;
    const { membersAs } = option;
    const map = option.else?.properties === undefined ? option : option.else;
    const row = [code(prefix + name), value === undefined ? '' : code(JSON.stringify(value)), replaces, description];
    if (membersAs !== undefined) return [row];
    const inside = items === undefined ? (member === undefined ? '.' : '.<method>.') : '[].';
    return [row, ...optionRows(items ?? member ?? map, prefix + name + inside, replaces)];
  });
}

function isOfKey(name: string, { description, default: value }: OptionSchema): boolean {
  const ofKey = permissionNames.find((field) => field === name);
  if (ofKey === undefined || value !== undefined) return false;
  return description.toLowerCase() === `${permissionFields[ofKey].meaning.toLowerCase()}.`;
}

function networkRows({ methods, networks: folder }: DocsSources): TableRow[] {
  const knownMethods = methods.map(({ name }) => name);
  const networks = loadNetworks({ folder, knownMethods, env: {} });
  const rows = networks.map(({ name, slug, chainId }) => [name, code(slug), String(chainId)]);
  return [['network', 'slug', 'chain id'], ...rows];
}

function providerUrlRows({ providerUrls }: DocsSources): TableRow[] {
  const rows = providerUrls.map(({ name, url, lists }) => [
    code(name),
    code(url),
    String(lists.flatMap(({ chains }) => Object.keys(chains)).length),
    String(lists.flatMap(({ websocket, chains }) => (websocket === true ? Object.keys(chains) : [])).length),
  ]);
  return [['provider', 'URL', 'chains', 'with WebSocket'], ...rows];
}

function permissionRows(): TableRow[] {
  const rows = permissionNames.map((name) => {
    const row = permissionFields[name];
    return [code(name), row.flag === undefined ? '' : code(row.flag), row.meaning, rejectionOf(row)];
  });
  return [['field', 'flag', 'meaning', 'rejects'], ...rows];
}

/** What a permission or limit rejects, and the HTTP status. */
function rejectionOf(row: PermissionRow): string {
  switch (row.kind) {
    case 'entry':
      return `requests, ${new RpcError(row.rejection).status}`;
    case 'method':
    case 'params':
      return `calls, ${new RpcError('key-settings').status}`;
    case 'charged':
      return `bodies, ${new RpcError('rate-limit').status}${row.requires === undefined ? '' : `; requires ${code(row.requires)}`}`;
    case 'open':
      return `what exceeds it, ${new RpcError('too-many-sockets').status}`;
    case 'bound':
      return `calls, ${new RpcError('beyond-bound').code}`;
    case 'token':
      return `requests, ${new RpcError('token-invalid').status}`;
    case 'capability':
      return row.requires === undefined ? '' : `requires ${code(row.requires)}`;
    case 'account':
    case 'plan':
      return '';
  }
}

function errorRows(): TableRow[] {
  const rows = reasons.map((reason) => {
    const { code: number, status, message } = new RpcError(reason);
    return [code(reason), String(number), String(status), message];
  });
  return [['reason (metric label)', 'code', 'HTTP', 'message'], ...rows];
}

function skipReasonRows(): TableRow[] {
  const rows = skipReasonNames.map((name) => [
    code(name),
    skipReasons[name].meaning,
    String(skipReasons[name].lastResort),
  ]);
  return [['skip reason', 'meaning', 'last resort'], ...rows];
}

function settingTableRows(): TableRow[] {
  const rows = settingRows.map(({ name, default: value, meaning, isDivided }) => [
    code(name),
    value === undefined ? 'unset' : code(value),
    isDivided === true ? `${meaning}; divided among workers` : meaning,
  ]);
  return [['name', 'default', 'meaning'], ...rows];
}

function redisRightRows(): TableRow[] {
  const users = { serve: 'gateway', list: 'operator', manage: 'operator', cache: 'cache' };
  const failures = {
    serve: 'the gateway does not start, or its log has a warning',
    list: 'commands and the admin API fail',
    manage: 'commands and the admin API fail',
    cache: 'responses are not shared',
  };
  const rows = rightRows.map((row) => [
    users[row.use],
    row.commands.map((command) => code(`+${command}`).replace('|', '\\|')).join(' '),
    patternsOf(row).map(code).join(' '),
    row.purpose,
    row.otherwise ?? failures[row.use],
  ]);
  return [['user', 'commands', 'keys, channels', 'for', 'without them'], ...rows];
}

function replaceTable(page: string, text: string, heading: string, rows: readonly TableRow[]): string {
  const section = text.indexOf(`\n## ${heading}\n`);
  const start = text.indexOf('\n|', section) + 1;
  const end = /\n(?!\|)/.exec(text.slice(start))?.index;
  if (section === -1 || start === 0 || end === undefined) throw new Error(`${page} has no table under ${heading}`);
  return text.slice(0, start) + table(rows) + text.slice(start + end);
}
