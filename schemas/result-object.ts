import { typeOfRef, type JsonSchema, type Types } from './json-schema.ts';
import type { MethodSource } from './read-sources.ts';

/** The name of the object that a result is, or of those in the array that it is. */
export function objectInResult({ result }: MethodSource, types: Types): string | undefined {
  const branches = [result.schema, ...(result.schema.anyOf ?? [])];
  return objectAmong([...branches, ...branches.flatMap(({ items }) => items ?? [])], types);
}

/** The first that refers to a type with fields. */
export function objectAmong(schemas: readonly JsonSchema[], types: Types): string | undefined {
  return schemas
    .map(({ $ref }) => typeOfRef($ref ?? ''))
    .find((type) => types[type]?.type === 'object' && types[type].properties !== undefined);
}
