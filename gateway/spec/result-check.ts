import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ValidateFunction } from 'ajv';
import { packageRoot } from '../config/package.ts';
import { strictAjv } from './strict-ajv.ts';

/** Gives undefined when a result is as the spec says, or the method is not its; else where it is not. */
export type ResultCheck = (method: string, result: unknown) => string | undefined;

/** From schemas/generated/results.json; each schema is compiled when its first result comes. */
export function compileResultCheck(): ResultCheck {
  const text = readFileSync(join(packageRoot, 'schemas/generated/results.json'), 'utf8');
  const schemas = JSON.parse(text) as Record<string, object>;
  const ajv = strictAjv(true);
  const compiled = new Map<string, ValidateFunction>();
  return (method, result) => {
    const schema = schemas[method];
    if (schema === undefined) return undefined;
    let fits = compiled.get(method);
    if (fits === undefined) compiled.set(method, (fits = ajv.compile(schema)));
    if (fits(result)) return undefined;
    const [error] = fits.errors ?? [];
    return `${error?.instancePath ?? ''} ${error?.message ?? ''}`.trim();
  };
}
