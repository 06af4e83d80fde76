import type { GasPlace } from '../gateway/spec/method-spec.ts';
import { notNull, resolve, type JsonSchema, type Types } from './json-schema.ts';
import type { MethodSource } from './read-sources.ts';

/** The gas quantities of a method's parameters to which the gas cap applies: fields with `gasCap` in schemas/types. */
export function gasPlaces({ params }: MethodSource, types: Types): GasPlace[] {
  return params.flatMap(({ schema }, param) => pathsIn(schema, types).map((path) => ({ param, path })));
}

function pathsIn(schema: JsonSchema | boolean, types: Types): string[][] {
  if (typeof schema === 'boolean') return [];
  if (schema['x-gatehouse']?.gasCap === true) return [[]];
  const { properties = {}, items } = resolve(notNull(schema) ?? schema, types);
  return [
    ...Object.entries(properties).flatMap(([name, part]) => pathsIn(part, types).map((path) => [name, ...path])),
    ...(items === undefined ? [] : pathsIn(items, types).map((path) => ['*', ...path])),
  ];
}
