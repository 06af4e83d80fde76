import { code, type TableRow } from './markdown-table.ts';
import type { MethodSource, ProviderUnits, Sources } from './read-sources.ts';

export interface UnitsSources extends Pick<Sources, 'passThroughUnits' | 'providers'> {
  readonly methods: readonly Pick<MethodSource, 'name' | 'x-gatehouse'>[];
}

/** The table of request units in docs/reference/methods.md, beside the published units of providers. */
export function unitsRows({ methods, passThroughUnits, providers }: UnitsSources): TableRow[] {
  const own = methods.map(({ name, 'x-gatehouse': notes }) => [name, notes?.units ?? 1] as const);
  const rows = [...own, ...Object.entries(passThroughUnits)].map(([name, units]) => [
    code(name),
    typeof units === 'number' ? String(units) : code(units),
    ...providers.map((provider) => publishedUnits(name, provider)),
  ]);
  return [['method', 'request units', ...providers.map(({ name }) => name)], ...rows];
}

export function providerRows({ providers }: UnitsSources): TableRow[] {
  return [
    ['provider', 'its units', 'source', 'date'],
    ...providers.map(({ name, unit, source, date }) => [name, unit, source, date]),
  ];
}

/** The units of a method, or of all that an entry with `*` is for. */
function publishedUnits(name: string, { methods }: ProviderUnits): string {
  if (!name.endsWith('*')) return String(methods[name] ?? '');
  const matching = Object.entries(methods).filter(([method]) => method.startsWith(name.slice(0, -1)));
  return [...new Set(matching.map(([, units]) => units))].join(', ');
}
