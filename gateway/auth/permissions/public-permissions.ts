import type { Diagnostic } from '../../network-files/diagnostics.ts';
import type { PublicOptions } from '../../network-files/network-config.ts';
import { permissionFields, permissionNames, type PermissionField } from './permission-fields.ts';
import { permissionText, problemsOf, type PermissionTexts } from './permissions.ts';

/** Fields that identify a key, or are counted in ways that a share of one address has no place for. */
const ofKeysOnly: readonly PermissionField[] = ['networks', 'expiresAt', 'secrets', 'methodRates', 'monthly'];

/** The fields of a key that hold for each client address without one. */
export const publicFieldNames = permissionNames.filter(
  (name) =>
    !ofKeysOnly.includes(name) &&
    !['capability', 'token', 'account', 'bound', 'plan'].includes(permissionFields[name].kind),
);

const boundNames = permissionNames.filter((name) => permissionFields[name].kind === 'bound');

/** The fields of a key that hold for all callers without one together. */
export const totalFieldNames = permissionNames.filter(
  (name) => name !== 'methodRates' && ['charged', 'open'].includes(permissionFields[name].kind),
);

/** The fields of a key in `public` of a network file, as the text of a key's record. */
export function publicTexts(options: PublicOptions): PermissionTexts {
  return { ...textsOf(publicFieldNames, options), ...boundTexts(options) };
}

function boundTexts({ bounds = {} }: PublicOptions): PermissionTexts {
  return textsOf(boundNames, bounds);
}

export function totalTexts({ total }: PublicOptions): PermissionTexts {
  return textsOf(totalFieldNames, total);
}

function textsOf(names: readonly PermissionField[], values: object): PermissionTexts {
  const given = new Map<string, unknown>(Object.entries(values));
  return Object.fromEntries(
    names.flatMap((name) => (given.has(name) ? [[name, permissionText(given.get(name)) ?? '']] : [])),
  );
}

/** Checks `public` of a network file beyond its schema, as the fields of a key. */
export function checkPublic(options: PublicOptions): Diagnostic[] {
  return [
    ...problemsOf(['public'], textsOf(publicFieldNames, options)),
    ...problemsOf(['public', 'bounds'], boundTexts(options)),
    ...problemsOf(['public', 'total'], totalTexts(options)),
  ];
}
