import { inlineRefs, orNull } from './inline-refs.ts';
import type { JsonSchema, Types } from './json-schema.ts';
import { portableSchema } from './portable-schema.ts';
import type { ErrorSource, Frame, MethodSource, ParamSource, Sources } from './read-sources.ts';

export interface OpenRpcDocument extends Omit<Frame, 'components'> {
  readonly methods: readonly MethodSource[];
  readonly components: { readonly schemas: Types; readonly errors: Readonly<Record<string, ErrorSource>> };
}

/** The schema of a positional array. `x-name` is the parameter's name in error messages. */
export interface ParamsSchema {
  readonly type: 'array';
  readonly prefixItems?: readonly (JsonSchema & { readonly 'x-name': string })[];
  readonly minItems?: number;
  readonly maxItems: number;
}

/** The OpenRPC document of all methods: for readers, and for `rpc.discover`. */
export function openRpcDocument({ frame, methods, types }: Sources): OpenRpcDocument {
  const { openrpc, info, servers, components } = frame;
  const portable = <Part extends object>(part: Part): Part => portableSchema(part, types);
  return {
    ...{ openrpc, info, servers, methods: methods.map(portable) },
    components: { schemas: portable(types), errors: components.errors },
  };
}

export function paramSchemas({ methods, types }: Sources): Record<string, ParamsSchema> {
  return Object.fromEntries(methods.map((method) => [method.name, paramsSchema(method, types)]));
}

export function resultSchemas({ methods, types }: Sources): Record<string, JsonSchema> {
  return Object.fromEntries(methods.map((method) => [method.name, inlineRefs(method.result.schema, types)]));
}

function paramsSchema({ params }: MethodSource, types: Types): ParamsSchema {
  // JSON Schema forbids an empty prefixItems, and strict Ajv forbids minItems without it.
  if (params.length === 0) return { type: 'array', maxItems: 0 };
  return {
    type: 'array',
    prefixItems: params.map((param) => ({ 'x-name': param.name, ...paramSchema(param, types) })),
    minItems: params.filter((param) => param.required).length,
    maxItems: params.length,
  };
}

/** An optional parameter may be null: some clients send null before a later parameter, some always. */
function paramSchema(param: ParamSource, types: Types): JsonSchema {
  const schema = inlineRefs(param.schema, types);
  return param.required ? schema : orNull(schema);
}
