import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ValidateFunction } from 'ajv';
import { packageRoot } from '../config/package.ts';
import { strictAjv } from './strict-ajv.ts';

/** Returns where a result deviates from the spec. Undefined: it does not, or the spec does not have the method. */
export type ResultCheck = (method: string, result: unknown) => string | undefined;

let resultCheck: ResultCheck | undefined;

/**
 * The check by schemas/generated/results.json; each schema is compiled at its first result. All gateways of a process share
 * it.
 */
export function compileResultCheck(): ResultCheck {
  return (resultCheck ??= readResultCheck());
}

function readResultCheck(): ResultCheck {
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
