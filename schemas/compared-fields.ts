import type { JsonSchema } from './json-schema.ts';
import type { Sources } from './read-sources.ts';
import { objectAmong, objectInResult } from './result-object.ts';

/** Types by field: the type of the objects in it; empty for other values. */
type Fields = Record<string, string>;

/** The fields of results that audits compare, by type: those in which correct nodes do not differ. */
export function comparedFields({ methods, types }: Sources): Record<string, Fields> {
  const compared: Record<string, Fields> = {};
  const add = (type: string | undefined): void => {
    if (type === undefined || type in compared) return;
    const fields = Object.entries(types[type]?.properties ?? {}).flatMap(([name, field]) => {
      if (typeof field === 'object' && field['x-gatehouse']?.varies !== undefined) return [];
      return [[name, objectsIn(field)] as const];
    });
    compared[type] = Object.fromEntries(fields.map(([name, inner]) => [name, inner ?? '']));
    for (const [, inner] of fields) add(inner);
  };
  const objectsIn = (field: JsonSchema | boolean): string | undefined => {
    if (typeof field !== 'object') return undefined;
    const branches = [field, ...(field.anyOf ?? [])];
    return objectAmong([...branches, ...branches.flatMap(({ items }) => items ?? [])], types);
  };
  for (const method of methods) add(objectInResult(method, types));
  return compared;
}
