import { readDecimal } from '../gateway/auth/permissions/field-formats.ts';
import { permissionFields, type PermissionField } from '../gateway/auth/permissions/permission-fields.ts';
import { publicFieldNames, totalFieldNames } from '../gateway/auth/permissions/public-permissions.ts';

/** The fields of keys that `public` of a network file has, as options: network-files/ is below auth/ in the layers. */
export function publicFieldsModule(): string {
  return [
    '// Generated from gateway/auth/permissions/permission-fields.ts by `npm run generate`. Do not edit.',
    "import { aboveZero, listOf, whole } from './option.ts';",
    '',
    "const texts = { ...listOf('list of texts', { title: 'text', type: 'string', minLength: 1 }), uniqueItems: true } as const;",
    '',
    `export const publicFields = ${optionsOf(publicFieldNames)} as const;`,
    '',
    `export const totalFields = ${optionsOf(totalFieldNames)} as const;`,
    '',
  ].join('\n');
}

function optionsOf(names: readonly PermissionField[]): string {
  return `{\n${names.map((name) => `  ${name}: ${optionOf(name)},\n`).join('')}}`;
}

function optionOf(name: PermissionField): string {
  const { read, meaning } = permissionFields[name];
  const schema = read.numbers === undefined ? 'texts' : read === readDecimal ? 'aboveZero' : 'whole(1)';
  return `{ ...${schema}, description: ${JSON.stringify(`${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.`)} }`;
}
