import { readFileSync } from 'node:fs';
import { errorCode } from '../../config/log.ts';
import { compileFileSchema } from '../../network-files/options/network-schema.ts';
import { explainErrors } from '../../network-files/diagnostics/explain-diagnostic.ts';
import { parseYaml, type Located } from '../../network-files/diagnostics/parse-yaml.ts';
import { NetworkFilesError } from '../../network-files/load-networks.ts';
import { permissionFields, permissionNames, type PermissionField } from '../permissions/permission-fields.ts';
import { permissionText, problemsOf } from '../permissions/permissions-in-files.ts';
import type { PermissionTexts } from '../permissions/permissions.ts';

/** What tokens may have: the file of AUTH_PLANS_FILE. */
export interface Plans {
  /** Permissions by the name of a plan. */
  readonly plans: Readonly<Record<string, PermissionTexts>>;
  /** The plan of a token without the claim. */
  readonly default?: string;
  /** Holds beside what the claim of a token permits. Plans are the operator's, and have no ceiling. */
  readonly ceiling?: PermissionTexts;
}

/** A token ends by its own time, and secrets and accounts belong to keys. */
const plannable = permissionNames.filter(
  (name) => !['expiresAt', 'secrets', 'account'].includes(name) && permissionFields[name].kind !== 'token',
);

/** The fields that the claim of a token may have: not those which grant more than others have, or join keys. */
const claimable = plannable.filter((name) => !['capability', 'account'].includes(permissionFields[name].kind));

export function isClaimable(name: string): boolean {
  return claimable.some((each) => each === name);
}

/**
 * @param file undefined: no plans, so that each token needs permissions in its claim
 * @throws NetworkFilesError with all diagnostics, each with its position
 */
export function readPlans(file: string | undefined): Plans {
  if (file === undefined) return { plans: {} };
  const { value, diagnostics, locate } = parseYaml(readText(file));
  const validate = compileFileSchema(schema, { validateSchema: true, allowUnionTypes: true });
  const found = diagnostics.length > 0 || validate(value) ? [] : explainErrors(validate.errors ?? []);
  const raw = value as RawPlans;
  const problems = [...diagnostics, ...found.map(locate)];
  if (problems.length > 0) throw invalidFile(file, problems);
  const plans = Object.fromEntries(Object.entries(raw.plans ?? {}).map(([name, fields]) => [name, textsOf(fields)]));
  const all = Object.entries(plans).flatMap(([name, texts]) => problemsOf(['plans', name], texts));
  const ceiling = raw.ceiling === undefined ? undefined : textsOf(raw.ceiling);
  if (ceiling !== undefined) all.push(...problemsOf(['ceiling'], ceiling));
  if (raw.default !== undefined && !Object.hasOwn(plans, raw.default)) {
    all.push({ path: ['default'], message: 'default: expected the name of a plan' });
  }
  if (all.length > 0) throw invalidFile(file, all.map(locate));
  return { plans, ...(raw.default !== undefined && { default: raw.default }), ...(ceiling && { ceiling }) };
}

function invalidFile(file: string, problems: readonly Located[]): NetworkFilesError {
  return new NetworkFilesError(problems.map((located) => ({ file, ...located })));
}

type RawFields = Readonly<Partial<Record<PermissionField, string | number | readonly string[]>>>;

interface RawPlans {
  readonly plans?: Readonly<Record<string, RawFields>>;
  readonly default?: string;
  readonly ceiling?: RawFields;
}

const permissionsOf = (names: readonly PermissionField[]): object => ({
  type: 'object',
  title: 'permissions by name',
  additionalProperties: false,
  properties: Object.fromEntries(
    names.map((name) => [
      name,
      {
        title: permissionFields[name].meaning,
        type: ['string', 'number', 'array'],
        items: { type: 'string', title: 'text' },
      },
    ]),
  ),
});

const schema = {
  type: 'object',
  title: 'a map with plans',
  additionalProperties: false,
  properties: {
    plans: {
      type: 'object',
      title: 'plans by name',
      propertyNames: { pattern: '^[a-z0-9][a-z0-9-]{0,39}$', title: 'a name of a-z, 0-9 and -' },
      additionalProperties: permissionsOf(plannable),
    },
    default: { type: 'string', title: 'the name of a plan' },
    ceiling: permissionsOf(claimable),
  },
};

function textsOf(fields: RawFields): PermissionTexts {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, permissionText(value) ?? '']));
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new NetworkFilesError([{ file, message: `AUTH_PLANS_FILE cannot be read (${errorCode(error)})` }]);
  }
}
