import { typeOfRef, type JsonSchema, type Types } from './json-schema.ts';
import type { MethodSource } from './read-sources.ts';

/** The type of a result that is an object, or of the objects in a result that is an array. */
export function objectInResult({ result }: MethodSource, types: Types): string | undefined {
  const branches = [result.schema, ...(result.schema.anyOf ?? [])];
  return objectAmong([...branches, ...branches.flatMap(({ items }) => items ?? [])], types);
}

/** The first type with fields to which one of the schemas refers. */
export function objectAmong(schemas: readonly JsonSchema[], types: Types): string | undefined {
  return schemas
    .map(({ $ref }) => typeOfRef($ref ?? ''))
    .find((type) => types[type]?.type === 'object' && types[type].properties !== undefined);
}
