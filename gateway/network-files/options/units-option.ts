import { bestPattern, byMethod, methodNames } from './method-pattern.ts';
import { either } from './option.ts';

/** Counts that a formula may have of the parameters of a call. A bound of a network or key limits some of them. */
const countNames = ['blocks', 'addresses', 'storageKeys', 'calls', 'overrides'] as const;
export type CountName = (typeof countNames)[number];

/** Request units of a call: `base`, plus `each` for each counted item, at most `max`. */
export interface UnitsFormula {
  readonly base: number;
  readonly terms: readonly { readonly count: CountName; readonly each: number }[];
  readonly max: number;
}

const number = String.raw`(?:\d{1,6}(?:\.\d{1,3})?)`;
const count = `(?:${countNames.join('|')})`;
const term = `(?:${number}(?: \\* ${count})?|${count}(?: / [1-9]\\d{0,5})?)`;
const sum = `${term}(?: \\+ ${term})*`;

/** Matches `2`, `1 + storageKeys`, `1 + 2 * calls + overrides / 10` and `min(2 + blocks / 100, 100)`. */
export const unitsPattern = `^(?:${sum}|min\\(${sum}, ${number}\\))$`;

/** @param text matches `unitsPattern` */
export function parseUnits(text: string): UnitsFormula {
  const [, inner = text, max = 'Infinity'] = /^min\((.*), (.*)\)$/.exec(text) ?? [];
  const terms = inner.split(' + ').map(parseTerm);
  return {
    base: terms.reduce((total, { name, each }) => (name === undefined ? total + each : total), 0),
    terms: terms.flatMap(({ name, each }) => (name === undefined ? [] : [{ count: name as CountName, each }])),
    max: Number(max),
  };
}

function parseTerm(text: string): { name: string | undefined; each: number } {
  const [, factor = '1', name, divisor = '1'] = /^([\d.]+)?(?: \* )?([a-zA-Z]+)?(?: \/ (\d+))?$/.exec(text) ?? [];
  return { name, each: Number(factor) / Number(divisor) };
}

/** @returns the text of the entry for a method: its name, or else the longest start of it that ends in `*` */
export function unitsIn(table: Readonly<Record<string, string | number>>, method: string): string | undefined {
  const best = bestPattern(Object.keys(table), method);
  return best === undefined ? undefined : String(table[best]);
}

const TITLE = 'number from 0.001, or formula such as `min(2 + blocks / 100, 100)`';
const value = either(
  TITLE,
  'number',
  { type: 'number', minimum: 0.001, maximum: 1_000_000 },
  { type: 'string', pattern: unitsPattern },
);

/**
 * Request units of what is no call, by its name in a map of units: a rejected request, a batch beside its calls, and notifications by
 * kind of subscription.
 */
export const otherUnits = {
  rejected: 0.1,
  batch: 0,
  newHeads: 0,
  logs: 0,
  newPendingTransactions: 0,
  transactionReceipts: 0,
  syncing: 0,
} as const;

export type OtherUnits = Readonly<Record<keyof typeof otherUnits, number>>;

/** Request units by method and by name of `otherUnits`: of a network, and in the file of UNITS_FILE. `*`: all other methods. */
export const unitsMap = {
  ...byMethod('map of methods to request units', value),
  propertyNames: { ...methodNames, pattern: `${methodNames.pattern}|^\\*$` },
} as const;
