import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../config/log.ts';
import { packageRoot } from '../config/package.ts';
import { suggest } from '../config/suggest.ts';
import { checkUnits, servedBy } from './check-network.ts';
import { explainErrors } from './diagnostics.ts';
import { NetworkFilesError } from './load-networks.ts';
import type { LoadOptions, NetworkConfig } from './network-config.ts';
import { compileFileSchema, jsonSchemaOf } from './options/network-schema.ts';
import { otherUnits, unitsMap } from './options/units-option.ts';
import { parseYaml } from './parse-yaml.ts';

const SHIPPED = 'infura';
const shippedFile = join(packageRoot, 'schemas/generated/units-infura.json');

export type UnitsByMethod = Readonly<Record<string, number | string>>;

/** Names that the file of UNITS_FILE may have: methods of the spec, of the table in docs/reference/methods.md, and of networks. */
export interface UnitsFacts {
  readonly knownMethods: readonly string[];
  readonly pricedMethods: readonly string[];
  readonly countsOf: LoadOptions['countsOf'];
}

/**
 * Reads the file of UNITS_FILE: request units by method, for all networks.
 * @param file `infura`: the published credits of that provider; undefined: there is none
 * @param networks undefined: a network file is invalid, so that the methods of networks are not known
 * @throws NetworkFilesError with all diagnostics
 */
export function readUnits(
  file: string | undefined,
  networks: readonly NetworkConfig[] | undefined,
  { knownMethods, pricedMethods, countsOf }: UnitsFacts,
): UnitsByMethod {
  if (file === undefined) return {};
  const { value, diagnostics, locate } = parseYaml(readText(file));
  const validate = compileFileSchema(jsonSchemaOf(unitsMap));
  const found = diagnostics.length > 0 || validate(value) ? [] : explainErrors(validate.errors ?? []).map(locate);
  const units = (value ?? {}) as UnitsByMethod;
  // The shipped file has methods that only some networks serve.
  if (found.length + diagnostics.length === 0 && file !== SHIPPED) {
    const served = (networks ?? []).flatMap(servedBy);
    const names = [...new Set([...knownMethods, ...pricedMethods, ...served, ...Object.keys(otherUnits)])];
    const problems = checkUnits(units, names, countsOf, [], 'docs/reference/methods.md or of a network');
    found.push(...problems.filter(({ isAtName }) => networks !== undefined || isAtName !== true).map(locate));
  }
  if (found.length + diagnostics.length === 0) return units;
  throw new NetworkFilesError([...diagnostics, ...found].map((located) => ({ file, ...located })));
}

function readText(file: string): string {
  try {
    return readFileSync(file === SHIPPED ? shippedFile : file, 'utf8');
  } catch (error) {
    throw new NetworkFilesError([
      { file, message: `UNITS_FILE cannot be read (${errorCode(error)})${suggest(file, [SHIPPED])}` },
    ]);
  }
}
