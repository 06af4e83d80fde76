import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { errorCode } from '../config/log.ts';
import { checkUnits, type CountsOf } from './check-units.ts';
import { explainErrors } from './diagnostics/explain-diagnostic.ts';
import { parseYaml } from './diagnostics/parse-yaml.ts';
import { NetworkFilesError } from './load-networks.ts';
import { jsonSchemaOf } from './options/network-schema.ts';
import { unitsMap } from './options/units-option.ts';

/**
 * Reads the file of UNITS_FILE: request units by method, for all networks.
 * @param file undefined: there is none
 * @throws NetworkFilesError with all diagnostics
 */
export function readUnits(
  file: string | undefined,
  knownMethods: readonly string[],
  countsOf: CountsOf,
): Readonly<Record<string, number | string>> {
  if (file === undefined) return {};
  const { value, diagnostics, locate } = parseYaml(readText(file));
  const validate = new Ajv2020({ allErrors: true, verbose: true, strict: true }).compile(jsonSchemaOf(unitsMap));
  const found = diagnostics.length > 0 || validate(value) ? [] : explainErrors(validate.errors ?? []).map(locate);
  const units = (value ?? {}) as Readonly<Record<string, number | string>>;
  // The file may name methods without a schema, which only some networks serve.
  const known = Object.fromEntries(Object.entries(units).filter(([name]) => knownMethods.includes(name)));
  if (found.length + diagnostics.length === 0) found.push(...checkUnits(known, knownMethods, countsOf, []).map(locate));
  if (found.length + diagnostics.length === 0) return units;
  throw new NetworkFilesError([...diagnostics, ...found].map((located) => ({ file, ...located })));
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new NetworkFilesError([{ file, message: `UNITS_FILE cannot be read (${errorCode(error)})` }]);
  }
}
