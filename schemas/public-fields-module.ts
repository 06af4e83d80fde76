import { numberForms, readDecimal } from '../gateway/auth/permissions/field-formats.ts';
import { permissionFields, type PermissionField } from '../gateway/auth/permissions/permission-fields.ts';
import { publicFieldNames, totalFieldNames } from '../gateway/auth/permissions/public-permissions.ts';

/** The fields of keys that `public` of a network file has, as options: network-files/ is below auth/ in the layers. */
export function publicFieldsModule(): string {
  return [
    '// Generated from gateway/auth/permissions/permission-fields.ts by `npm run generate`. Do not edit.',
    `export const publicFields = ${optionsOf(publicFieldNames)} as const;`,
    '',
    `export const totalFields = ${optionsOf(totalFieldNames)} as const;`,
    '',
  ].join('\n');
}

function optionsOf(names: readonly PermissionField[]): string {
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, optionOf(name)])), undefined, 2);
}

function optionOf(name: PermissionField): object {
  const { read, meaning } = permissionFields[name];
  const description = `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.`;
  if (!numberForms.has(read)) {
    const items = { title: 'text', type: 'string', minLength: 1 };
    return { title: 'list of texts', description, type: 'array', minItems: 1, uniqueItems: true, items };
  }
  return read === readDecimal
    ? { title: 'number above 0', description, type: 'number', exclusiveMinimum: 0 }
    : { title: 'whole number from 1', description, type: 'integer', minimum: 1 };
}
