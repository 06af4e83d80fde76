import { suggest } from '../../config/suggest.ts';
import type { Diagnostic } from '../diagnostics/diagnostic.ts';
import { coversMethod } from '../options/method-pattern.ts';
import { parseUnits, type CountName } from '../options/units-formula.ts';

/** What the parameters of a method have to count; undefined: all methods have all. */
export type CountsOf = ((method: string) => readonly CountName[]) | undefined;

/**
 * Checks request units beyond the schema: each name is that of a method, and each formula counts what its methods have.
 * @param path of the map
 * @param whole whose methods they are
 */
export function checkUnits(
  units: Readonly<Record<string, number | string>>,
  methods: readonly string[],
  countsOf: CountsOf,
  path: readonly string[],
  whole = 'the network',
): Diagnostic[] {
  return Object.entries(units).flatMap(([name, value]) => {
    const at = [...path, name];
    const matches = methods.filter((method) => coversMethod(name, method) || coversMethod(method, name));
    if (matches.length === 0) {
      const message = `${at.join('.')} is no method of ${whole}${suggest(name, methods)}`;
      return [{ path: at, isAtName: true, message }];
    }
    // An invalid formula has a diagnostic of the schema.
    const terms = typeof value === 'string' && value !== '' ? parseUnits(value).terms : [];
    const missing = terms.find(({ count }) => matches.some((method) => countsOf?.(method).includes(count) === false));
    return missing === undefined ? [] : [{ path: at, message: `${at.join('.')}: a method has no ${missing.count}` }];
  });
}
