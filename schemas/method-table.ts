import type { MethodSpec, ObjectShape } from '../gateway/spec/method-spec.ts';
import { contractPlace } from './contract-place.ts';
import { notNull, refTo, resolve, type JsonSchema, type Types } from './json-schema.ts';
import type { MethodSource, Sources } from './read-sources.ts';

/** What the gateway needs to know of each method, read off its schemas. */
export function methodTable(sources: Sources): MethodSpec[] {
  return sources.methods.map((method) => methodSpec(method, sources));
}

function methodSpec(method: MethodSource, { frame, types }: Sources): MethodSpec {
  const extension = method['x-gatehouse'] ?? {};
  const result = resolve(notNull(method.result.schema) ?? method.result.schema, types);
  const pad = result['x-gatehouse']?.pad;
  const contractAt = contractPlace(method, types);
  return {
    name: method.name,
    namespace: method.name.slice(0, method.name.indexOf('_')),
    ...(extension.answer !== undefined && { answer: extension.answer }),
    nullable: notNull(method.result.schema) !== undefined,
    reverts: method.errors.some(({ $ref }) => frame.components.errors[lastPart($ref)]?.code === 3),
    resultKind: resultKind(result, method.name),
    ...(pad !== undefined && { padResult: pad }),
    ...(extension.identity !== undefined && { identity: extension.identity }),
    hashParams: method.params.flatMap((param, index) => (mayHoldHash(param.schema, types) ? [index] : [])),
    ...(extension.gasCap !== undefined && {
      gasCapParam: method.params.findIndex((param) => param.name === extension.gasCap),
    }),
    ...(contractAt !== undefined && { contractAt }),
    ...(extension.weight !== undefined && { weight: extension.weight }),
    ...(result.properties !== undefined && { shape: objectShape(result, types) }),
  };
}

function resultKind(result: JsonSchema, method: string): MethodSpec['resultKind'] {
  const { type } = result;
  if (type === 'object' || type === 'string' || type === 'array' || type === 'boolean') return type;
  throw new Error(`${method}: the gateway does not know results of the type ${JSON.stringify(type)}`);
}

/** A hash, or an object with a hash in it: the block parameter of EIP-1898. */
function mayHoldHash(schema: JsonSchema, types: Types): boolean {
  return isHash(schema) || Object.values(resolve(schema, types).properties ?? {}).some(isHash);
}

export function isHash(schema: JsonSchema | boolean): boolean {
  return typeof schema !== 'boolean' && schema.$ref === refTo('Hash');
}

function objectShape(object: JsonSchema, types: Types): ObjectShape {
  const pad: Record<string, number> = {};
  const rename: Record<string, string> = {};
  const nested: Record<string, ObjectShape> = {};
  for (const [name, property] of Object.entries(object.properties ?? {})) {
    if (typeof property === 'boolean') continue;
    const bytes = resolve(notNull(property) ?? property, types)['x-gatehouse']?.pad;
    const alias = property['x-gatehouse']?.alias;
    const element = elementObject(property, types);
    if (bytes !== undefined) pad[name] = bytes;
    if (alias !== undefined) rename[name] = alias;
    if (element !== undefined) nested[name] = objectShape(element, types);
  }
  return { fill: object.required ?? [], pad, rename, nested };
}

/** The object that an array property holds, also where it may hold something else instead (transactions, or hashes). */
function elementObject(property: JsonSchema, types: Types): JsonSchema | undefined {
  return [property, ...(property.anyOf ?? [])]
    .flatMap((array) => array.items ?? [])
    .map((element) => resolve(element, types))
    .find((element) => element.properties !== undefined);
}

function lastPart(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1);
}
