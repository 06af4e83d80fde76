import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import { packageRoot } from '../config/package.ts';
import { compileMemberCheck } from './check-members.ts';
import { explainFault, explainParams, type ParamsSchema } from './explain-params.ts';
import { strictAjv } from './strict-ajv.ts';

/**
 * Gives undefined when the parameters fit, else the sentence that the caller gets. Never throws.
 * @param given the same as the caller wrote them, for members that JSON.parse does not show; undefined: none can be there
 */
export type ParamCheck = (params: readonly unknown[], given?: string) => string | undefined;

/** One check for each method of the spec, from schemas/generated/params.json; compiled when its first call comes. */
export function compileParamChecks(): ReadonlyMap<string, ParamCheck> {
  const text = readFileSync(join(packageRoot, 'schemas/generated/params.json'), 'utf8');
  const schemas = JSON.parse(text) as Record<string, ParamsSchema>;
  const ajv = strictAjv(true);
  return new Map(Object.entries(schemas).map(([method, schema]) => [method, compileCheck(ajv, schema)]));
}

function compileCheck(ajv: Ajv2020, schema: ParamsSchema): ParamCheck {
  const compiled = once(() => ajv.compile(schema));
  const explainGiven = once(() => ajv.compile({ ...schema, minItems: 0 }));
  const checkMembers = once(() => compileMemberCheck(schema.prefixItems ?? []));
  return (params, given) => {
    const fault = given === undefined ? undefined : checkMembers()(given);
    if (fault !== undefined) return explainFault(fault, schema);
    const fits = compiled();
    const count = params.length;
    if (fits(params)) return undefined;
    const [error] = fits.errors ?? [];
    if (error === undefined) return 'invalid params';
    // Too few, says Ajv before it looks at those that are there. A caller is helped more by the first that is wrong.
    const anyCount = error.keyword === 'minItems' ? explainGiven() : undefined;
    const first = anyCount === undefined || anyCount(params) ? error : (anyCount.errors?.[0] ?? error);
    return explainParams(first, schema, count);
  };
}

/** When it is first needed: most methods never are, and all together take 200 ms and 15 MB. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
