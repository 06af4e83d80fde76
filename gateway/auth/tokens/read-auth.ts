import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { JSONWebKeySet } from 'jose';
import { errorCode } from '../../config/log.ts';
import { parseUrl } from '../../config/parse-url.ts';
import { type Diagnostic, explainErrors } from '../../network-files/diagnostics.ts';
import { AUTH, NetworkFilesError, type FolderContent } from '../../network-files/load-networks.ts';
import { compileFileSchema } from '../../network-files/options/network-schema.ts';
import { trueOrFalse, whole } from '../../network-files/options/option.ts';
import { parseYaml, type Located } from '../../network-files/parse-yaml.ts';
import { permissionFields, permissionNames, type PermissionField } from '../permissions/permission-fields.ts';
import { planPattern } from '../permissions/field-formats.ts';
import { permissionText, problemsOf, type PermissionTexts } from '../permissions/permissions.ts';
import type { Plans } from '../permissions/plans.ts';
import { jose } from './jose.ts';

/** How tokens of an operator's own issuer are verified. */
export interface IssuerConfig {
  readonly issuer: string;
  readonly audience: string;
  /** The key set: a URL or an absolute path. */
  readonly keySet: string;
  readonly algorithms: readonly string[];
  readonly clockToleranceS: number;
  /** Name of the claim with permissions or a plan. */
  readonly claim: string;
  readonly tokensInPath: boolean;
  /** The plan of a token without the claim. */
  readonly defaultPlan?: string;
  /** Holds beside what the claim of a token permits. Plans are the operator's, and have no ceiling. */
  readonly ceiling?: PermissionTexts;
}

/** How tokens beside a key are verified. */
export interface KeyTokenConfig {
  readonly keyTokenAudience: string;
  readonly clockToleranceS: number;
}

/** The content of auth.yaml. */
export interface AuthConfig {
  /** Issuer of tokens; undefined: tokens of an issuer are not accepted. */
  readonly issuer?: IssuerConfig;
  readonly keyTokens: KeyTokenConfig;
  /** Plans of keys, and of tokens of the issuer. */
  readonly plans: Plans;
}

/** A token ends by its own time, and secrets, with what requires them, and accounts belong to keys. */
const plannable = permissionNames.filter(
  (name) =>
    !['expiresAt', 'secrets', 'overrideAllowlists', 'account'].includes(name) &&
    !['token', 'plan'].includes(permissionFields[name].kind),
);

/** The fields that the claim of a token may have: not those which grant more than others have, or join keys. */
const claimable = plannable.filter((name) => !['capability', 'account'].includes(permissionFields[name].kind));

export function isClaimable(name: string): boolean {
  return claimable.some((each) => each === name);
}

/** Algorithms with asymmetric keys: with a key set, a symmetric key would be public. */
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

const permissionsOf = (names: readonly PermissionField[], description: string): object => ({
  type: 'object',
  title: 'permissions by name',
  description,
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

const notEmpty = (title: string): object => ({ title, type: 'string', minLength: 1 });

const properties = {
  issuer: { ...notEmpty('the name of the token issuer'), description: 'Claim `iss` that tokens must have.' },
  audience: { ...notEmpty('the name of this service'), description: 'Claim `aud` that tokens must have.' },
  keySet: {
    ...notEmpty('the URL or the file of the key set'),
    description:
      'Key set of the issuer (JWKS): an https URL, an http URL of this machine, or a file, relative to auth.yaml.',
  },
  algorithms: {
    type: 'array',
    title: 'list of signature algorithms',
    description: 'Signature algorithms of tokens. Symmetric ones are not possible.',
    minItems: 1,
    items: { enum: algorithms, title: `one of ${algorithms.join(', ')}` },
    default: ['RS256', 'PS256', 'ES256', 'EdDSA'],
  },
  clockToleranceS: {
    ...whole(0, 3600, 'seconds'),
    description: 'Seconds by which the clock of a token issuer may differ.',
    default: 5,
  },
  claim: {
    ...notEmpty('the name of a claim'),
    description: 'Claim of a token with the permissions of a key, or with the name of a plan.',
    default: 'gatehouse',
  },
  tokensInPath: {
    ...trueOrFalse,
    description: 'A WebSocket URL may have a token in place of the key, with at most 15 minutes to live.',
    default: false,
  },
  plans: {
    type: 'object',
    title: 'plans by name',
    description: 'Permissions by the name of a plan, which a key or the claim of a token may name.',
    propertyNames: { pattern: planPattern, title: 'a name of a-z, 0-9 and -' },
    additionalProperties: permissionsOf(plannable, 'Permissions and limits, as a key has them.'),
    default: {},
  },
  defaultPlan: {
    type: 'string',
    title: 'the name of a plan',
    description: 'Plan of tokens without the claim. Without it, such tokens are rejected.',
  },
  ceiling: permissionsOf(claimable, 'Holds beside the permissions in the claim of a token, but not for plans.'),
  keyTokenAudience: {
    ...notEmpty('the claim aud of tokens beside a key'),
    description: 'Claim `aud` of tokens beside a key, which a public key that is registered with the key verifies.',
    default: 'infura.io',
  },
};

/** Options of keys, and of tokens beside a key; the others are those of an issuer. */
const ofKeys = ['clockToleranceS', 'keyTokenAudience', 'plans'];

/** Members of an issuer. Without issuer and audience, a token that was signed for another service would be valid here. */
const required = ['issuer', 'audience', 'keySet'];

/** The JSON Schema of auth.yaml, for validation and for editors (schemas/auth.schema.json). */
export const authSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'map with issuer, audience and keySet',
  description: 'Tokens that are accepted as keys, or beside a key: networks/auth.yaml.',
  type: 'object',
  additionalProperties: false,
  dependentRequired: Object.fromEntries(
    Object.keys(properties)
      .filter((name) => !ofKeys.includes(name))
      .map((name) => [name, required.filter((each) => each !== name)]),
  ),
  properties,
};

const defaults = Object.fromEntries(
  Object.entries(properties).flatMap(([name, row]) => ('default' in row ? [[name, row.default]] : [])),
) as Pick<RawAuth, 'algorithms' | 'claim' | 'clockToleranceS' | 'keyTokenAudience' | 'plans' | 'tokensInPath'>;

const successors = new Map([['default', 'write defaultPlan: …']]);

type RawFields = Readonly<Partial<Record<PermissionField, string | number | readonly string[]>>>;

type RawAuth = KeyTokenConfig &
  Omit<IssuerConfig, 'issuer' | 'ceiling'> & {
    readonly issuer?: string;
    readonly plans: Readonly<Record<string, RawFields>>;
    readonly ceiling?: RawFields;
  };

/**
 * Reads auth.yaml, which stands beside the network files.
 * @param needsKeySet whether a file of the key set must have one
 * @throws NetworkFilesError with all diagnostics, each with its position
 */
export function readAuth({ files }: Pick<FolderContent, 'files'>, needsKeySet = true): AuthConfig {
  const found = files.find(({ slug }) => slug === AUTH);
  if (found === undefined) return { keyTokens: defaults, plans: {} };
  const { file, text = '', diagnostic } = found;
  const failed = (problems: readonly Located[]): NetworkFilesError =>
    new NetworkFilesError(problems.map((located) => ({ file, ...located })));
  if (diagnostic !== undefined) throw failed([diagnostic]);
  const { value, diagnostics, locate } = parseYaml(text);
  if (diagnostics.length > 0) throw failed(diagnostics);
  const validate = compileFileSchema(authSchema, { allowUnionTypes: true });
  if (!validate(value)) throw failed(explainErrors(validate.errors ?? [], successors).map(locate));
  const raw = { ...defaults, ...(value as Partial<RawAuth>) } as RawAuth;
  const plans = Object.fromEntries(Object.entries(raw.plans).map(([name, fields]) => [name, textsOf(fields)]));
  const problemsOfPlans = Object.entries(plans).flatMap(([name, texts]) => problemsOf(['plans', name], texts));
  if (raw.issuer === undefined) {
    if (problemsOfPlans.length > 0) throw failed(problemsOfPlans.map(locate));
    return { keyTokens: raw, plans };
  }
  const { ceiling: given, ...options } = raw;
  const ceiling = given && textsOf(given);
  const keySet = isUrl(raw.keySet) ? raw.keySet : resolve(dirname(file), raw.keySet);
  const problems = [
    ...problemsOfPlans,
    ...(ceiling === undefined ? [] : problemsOf(['ceiling'], ceiling)),
    ...(raw.defaultPlan === undefined || Object.hasOwn(plans, raw.defaultPlan)
      ? []
      : [
          {
            path: ['defaultPlan'],
            message: `defaultPlan: expected the name of a plan (${Object.keys(plans).join(', ') || 'plans is empty'})`,
          },
        ]),
    ...problemsOfKeySet(keySet, needsKeySet),
  ];
  if (problems.length > 0) throw failed(problems.map(locate));
  return { keyTokens: raw, plans, issuer: { ...options, issuer: raw.issuer, keySet, ...(ceiling && { ceiling }) } };
}

export function isUrl(keySet: string): boolean {
  return /^[a-z]+:/i.test(keySet);
}

function problemsOfKeySet(keySet: string, needsKeySet: boolean): Diagnostic[] {
  const problem = (message: string): Diagnostic[] => [{ path: ['keySet'], message: `keySet: ${message}` }];
  if (isUrl(keySet)) {
    const { protocol, hostname = '' } = parseUrl(keySet) ?? {};
    const isLocal = protocol === 'http:' && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
    if (protocol === 'https:' || isLocal) return [];
    return problem('expected an https URL, an http URL of this machine (127.0.0.1, localhost), or a file');
  }
  try {
    if (needsKeySet) jose().createLocalJWKSet(JSON.parse(readFileSync(keySet, 'utf8')) as JSONWebKeySet);
    return [];
  } catch (error) {
    return problem(`the file has no key set (${errorCode(error)})`);
  }
}

function textsOf(fields: RawFields): PermissionTexts {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, permissionText(value) ?? '']));
}
