import type { ErrorObject } from 'ajv/dist/2020.js';
import type { MemberFault } from '../json/member-names.ts';
import type { MemberSchema } from './check-members.ts';

/** The part of a type's schema that an error message needs. */
interface TitledSchema {
  readonly title?: string;
  readonly properties?: Readonly<Record<string, TitledSchema | boolean>>;
}

/** One method's entry in schemas/generated/params.json. */
export interface ParamsSchema {
  readonly type: 'array';
  readonly prefixItems?: readonly (TitledSchema & MemberSchema & { readonly 'x-name': string })[];
  readonly minItems?: number;
  readonly maxItems: number;
}

/**
 * The error message for an invalid parameter: its name, and what was expected. The message consists of the schema's
 * texts, and repeats nothing that the caller sent.
 */
export function explainParams(error: ErrorObject, schema: ParamsSchema, given: number): string {
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
export function explainFault({ member, isVariant, path }: MemberFault, schema: ParamsSchema): string {
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
