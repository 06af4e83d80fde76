import type * as Ajv from 'ajv/dist/2020.js';
import { loadPackage } from '../../config/load-package.ts';

/**
 * Compiles the schema of a file that operators write. Commands that read no such file do not load Ajv, which with the schema
 * of network files takes 30 % of the CPU of a command.
 */
export function compileFileSchema(schema: object, options: Ajv.Options = {}): Ajv.ValidateFunction {
  const { Ajv2020 } = loadPackage('ajv/dist/2020.js') as typeof Ajv;
  const ajv = new Ajv2020({
    ...{ allErrors: true, verbose: true, strict: true },
    // A test validates the schemas themselves, so that the start does not.
    validateSchema: false,
    // Optimised code is faster for thousands of values, and a file has some. It takes a third of the compilation.
    code: { optimize: false },
    ...options,
  });
  return ajv.compile(schema);
}
