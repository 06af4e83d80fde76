import {
  type CountName,
  otherUnits,
  type OtherUnits,
  parseUnits,
  unitsIn,
} from '../network-files/options/units-option.ts';
import { counters, type Counter } from './count-params.ts';
import type { MethodSpec } from './method-spec.ts';
import { methods, nodeMethods, passThroughUnits } from './methods.generated.ts';

/** Request units by method, or by the start of a method's name with `*`. */
export type UnitsTable = Readonly<Record<string, string | number>>;

/** The request units of a call. @param params validated by the schema of the method */
export type RequestUnits = (params: readonly unknown[]) => number;

/**
 * Compiles the formula of a method to a function, once for each network.
 * @param tables in place of the formula in schemas/methods, the first that has the method
 * @param head the number of the network's head
 */
export function compileUnits(
  spec: MethodSpec,
  tables: readonly UnitsTable[],
  head: () => bigint | undefined,
): RequestUnits {
  const { base, terms, max } = parseUnits(unitsTextOf(spec, tables));
  const counted = terms.flatMap(({ count, each }) =>
    (spec.counts ?? []).flatMap(({ name, type, param }) => {
      const counter: Counter | undefined = name === count ? counters[type]?.[name] : undefined;
      return counter === undefined ? [] : [{ counter, param, each }];
    }),
  );
  const fixed = roundUnits(Math.min(base, max));
  if (counted.length === 0) return () => fixed;
  return (params) => {
    let units = base;
    for (const { counter, param, each } of counted) units += each * counter(params[param], head);
    return roundUnits(Math.min(units, max));
  };
}

/** The request units of what is no call. @param tables as of `compileUnits` */
export function compileOtherUnits(tables: readonly UnitsTable[]): OtherUnits {
  const entries = Object.entries(otherUnits).map(([name, units]) => {
    const { base, max } = parseUnits(String(tables.find((table) => table[name] !== undefined)?.[name] ?? units));
    return [name, roundUnits(Math.min(base, max))];
  });
  return Object.fromEntries(entries) as OtherUnits;
}

/** Counts that formulas may have of the parameters of a method. */
export function countsOf(method: string): readonly CountName[] {
  return methods.find(({ name }) => name === method)?.counts?.map(({ name }) => name) ?? [];
}

/** The formula of a method as text. */
export function unitsTextOf(
  { name, requestUnits }: Pick<MethodSpec, 'name' | 'requestUnits'>,
  tables: readonly UnitsTable[],
): string {
  for (const table of tables) {
    const text = unitsIn(table, name);
    if (text !== undefined) return text;
  }
  return requestUnits ?? unitsIn(passThroughUnits, name) ?? '1';
}

/** The request units of a block by its number, the price of a lookup. @param tables as of `compileUnits` */
export function lookupUnits(tables: readonly UnitsTable[]): number {
  const { base, max } = parseUnits(unitsTextOf({ name: nodeMethods.blockByNumber }, tables));
  return roundUnits(Math.min(base, max));
}

/**
 * Warns of a rate below the price of a lookup: a number of calls per second is one, where `UNITS_FILE=infura` has credits.
 * @param rate request units per second; undefined: there is no limit
 */
export function rateWarnings(rate: number | string | undefined, lookup: number): string[] {
  if (rate === undefined || !(Number(rate) < lookup)) return [];
  return [
    `the rate ${rate} is below the ${lookup} request units of ${nodeMethods.blockByNumber}: one such call in ${roundUnits(lookup / Number(rate))} s`,
  ];
}

/** Rounds to 0.001 units, so that sums of units have no rounding errors. */
export function roundUnits(units: number): number {
  return Math.round(units * 1000) / 1000;
}
