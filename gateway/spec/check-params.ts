import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { packageRoot } from '../config/package.ts';
import { compileMemberCheck, type MemberCheck, type MemberSchema } from './check-members.ts';
import { strictAjv } from './strict-ajv.ts';
import type { MemberFault } from '../json/member-names.ts';

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

/** The part of a type's schema that an error message needs. */
interface TitledSchema {
  readonly title?: string;
  readonly properties?: Readonly<Record<string, TitledSchema | boolean>>;
}

/** One method's entry in schemas/generated/params.json. */
interface ParamsSchema {
  readonly type: 'array';
  readonly prefixItems?: readonly (TitledSchema & MemberSchema & { readonly 'x-name': string })[];
  readonly minItems?: number;
  readonly maxItems: number;
}

/**
 * The error message for an invalid parameter: its name, and what was expected. The message consists of the schema's
 * texts, and repeats nothing that the caller sent.
 */
function explainParams(error: ErrorObject, schema: ParamsSchema, given: number): string {
  if (error.keyword === 'maxItems') return `invalid params: expected ${maxCountText(schema.maxItems)}`;
  if (error.keyword === 'minItems') return expected(schema, given);
  const [index, ...path] = error.instancePath.split('/').slice(1);
  const failed = error.parentSchema as TitledSchema | undefined;
  // A schema without a title is a branch of a union: the parameter as a whole is invalid, not one field.
  if (failed?.title === undefined) return expected(schema, Number(index));
  if (error.keyword !== 'required') return expected(schema, Number(index), path, failed.title);
  const { missingProperty } = error.params as { missingProperty: string };
  return expected(schema, Number(index), [...path, missingProperty], titleOf(failed.properties?.[missingProperty]));
}

/** The error message for a member that is duplicated or spelt in another case. */
function explainFault({ member, isVariant, path }: MemberFault, schema: ParamsSchema): string {
  const [index, ...inner] = path;
  return expected(schema, Number(index), [...inner.map(String), member], isVariant ? VARIANT : 'only once');
}

/** Members are case-sensitive. */
const VARIANT = 'exactly this spelling';

function expected(schema: ParamsSchema, index: number, path: readonly string[] = [], title?: string): string {
  const param = schema.prefixItems?.[index];
  const inner = path.map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`)).join('');
  return `invalid params: ${param?.['x-name'] ?? 'params'}${inner}: expected ${title ?? titleOf(param)}`;
}

function titleOf(schema: TitledSchema | boolean | undefined): string {
  return (typeof schema === 'object' ? schema.title : undefined) ?? 'another value';
}

function maxCountText(count: number): string {
  if (count === 0) return 'no parameters';
  return `at most ${count} ${count === 1 ? 'parameter' : 'parameters'}`;
}
