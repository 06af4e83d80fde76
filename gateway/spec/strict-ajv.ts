import type * as Ajv from 'ajv/dist/2020.js';
import { loadPackage } from '../config/load-package.ts';

/**
 * Creates the Ajv instance for all schemas of this project. It is strict, so that a misspelt keyword is an error. There
 * are two exceptions: a tuple may omit its last parameters, and the block parameter is a string or an object. `verbose`
 * adds the violated schema to an error, and with it the title.
 * @param isProven whether the schemas are from `npm run generate`, which has compiled them. Validating them again would
 * compile the meta-schema (50 ms, 1 MB).
 * @param useDefaults whether a check adds the defaults of the schema to the value
 */
export function strictAjv(isProven = false, useDefaults = false): Ajv.Ajv2020 {
  const { Ajv2020 } = loadPackage('ajv/dist/2020.js') as typeof Ajv;
  const ajv = new Ajv2020({
    ...{ strict: true, strictTuples: false, allowUnionTypes: true, verbose: true },
    validateSchema: !isProven,
    useDefaults,
  });
  ajv.addVocabulary(['x-name']);
  return ajv;
}
