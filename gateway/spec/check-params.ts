import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';
import { packageRoot } from '../config/package.ts';
import { compileMemberCheck, type MemberCheck } from './check-members.ts';
import { explainFault, explainParams, type ParamsSchema } from './explain-params.ts';
import { strictAjv } from './strict-ajv.ts';

/**
 * Returns undefined if the parameters are valid, else the error message for the caller. Never throws.
 * @param given the parameters as the caller wrote them, for duplicates of members, which JSON.parse hides. Undefined if there can
 * be none.
 */
export type ParamCheck = (params: readonly unknown[], given?: string) => string | undefined;

let paramChecks: ReadonlyMap<string, ParamCheck> | undefined;

/**
 * One check for each method of the spec, from schemas/generated/params.json; compiled at the first call. All gateways of a
 * process share them.
 */
export function compileParamChecks(): ReadonlyMap<string, ParamCheck> {
  return (paramChecks ??= readParamChecks());
}

function readParamChecks(): ReadonlyMap<string, ParamCheck> {
  const text = readFileSync(join(packageRoot, 'schemas/generated/params.json'), 'utf8');
  const schemas = JSON.parse(text) as Record<string, ParamsSchema>;
  const ajv = strictAjv(true);
  return new Map(Object.entries(schemas).map(([method, schema]) => [method, compileCheck(ajv, schema)]));
}

function compileCheck(ajv: Ajv2020, schema: ParamsSchema): ParamCheck {
  // Compiled at the first use. Most methods are never called, and all together take 200 ms and 15 MB.
  let fits: ValidateFunction | undefined;
  let anyCountFits: ValidateFunction | undefined;
  let checkMembers: MemberCheck | undefined;
  return (params, given) => {
    checkMembers ??= compileMemberCheck(schema.prefixItems ?? []);
    const fault = checkMembers(params, given);
    if (fault !== undefined) return explainFault(fault, schema);
    fits ??= ajv.compile(schema);
    const count = params.length;
    if (fits(params)) return undefined;
    const [error] = fits.errors ?? [];
    if (error === undefined) return 'invalid params';
    // Ajv reports too few parameters before it checks those present. The first invalid one helps the caller more.
    const anyCount =
      error.keyword === 'minItems' ? (anyCountFits ??= ajv.compile({ ...schema, minItems: 0 })) : undefined;
    const first = anyCount === undefined || anyCount(params) ? error : (anyCount.errors?.[0] ?? error);
    return explainParams(first, schema, count);
  };
}
