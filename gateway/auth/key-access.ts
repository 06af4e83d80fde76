import type { CallerAccount } from '../admission/caller-account.ts';
import { KeyAccount } from '../admission/key-accounts.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { originMatcher } from './formats/origin-pattern.ts';
import {
  callPermissions,
  type CallPermissions,
  type FieldCheck,
  type MethodCheck,
  type ParamsCheck,
} from './permissions/call-permissions.ts';
import type { EntryCheck } from './permissions/entry-permissions.ts';
import type { Capabilities } from './permissions/field-kinds.ts';
import { lowerLimits, lowerNumbers, noLimits, type KeyLimits } from './permissions/key-limits.ts';
import { permissionFields, permissionNames, type PermissionField } from './permissions/permission-fields.ts';
import { InvalidPermissionsError, parsePermissions, type PermissionTexts } from './permissions/permissions.ts';
import { passwordIn } from './permissions/secrets.ts';
import type { TokenRules } from './permissions/token-keys.ts';
import type { Bounds } from '../spec/bounds.ts';
import type { KeyRecord } from './stores/key-store.ts';
import type { KeyTokenConfig } from './tokens/read-auth.ts';
import type { TokenFacts } from './tokens/revocations.ts';

/** What all callers without a key on one network have in common: `PublicAccess`. */
export interface PublicGroup {
  readonly total: KeyLimits;
  accessOf(address: string): KeyAccess;
  /** Limits of a sender of transactions; undefined: senders have no limit of their own. */
  readonly senderLimits: ((sender: string) => KeyLimits) | undefined;
}

/** A caller without a key. */
export interface PublicCaller {
  readonly of: PublicGroup;
  readonly address: string;
}

/** A verified token beside a key. */
export interface KeyToken {
  /** The key without the token. */
  readonly of: KeyAccess;
  readonly text: string;
  /** End of the validity in ms since 1970, with the clock tolerance. */
  readonly endsAt: number;
  /** Options that verified the token. */
  readonly config: KeyTokenConfig;
}

/** An authenticated key with its compiled permissions. A part without permissions is empty or undefined, so its check is skipped. */
export interface KeyAccess {
  readonly record: KeyRecord;
  /** The account whose limits apply. Keys that replaced each other by rotation, and keys of a team, share one. */
  readonly account: CallerAccount;
  /** Checks before the body is read: `checkEntry`. */
  readonly entry: readonly EntryCheck[];
  readonly calls: CallPermissions | undefined;
  readonly limits: KeyLimits | undefined;
  readonly bounds: Bounds | undefined;
  readonly capabilities: Capabilities;
  /** Facts of the token; undefined for a key. */
  readonly token?: TokenFacts;
  /** How tokens beside the key are verified; undefined: it has none. */
  readonly tokens?: TokenRules | undefined;
  /** The token by which the key is narrowed. */
  readonly keyToken?: KeyToken | undefined;
  /** The access of requests with the secret of the key; undefined: all requests have this one. */
  readonly withSecret?: KeyAccess;
  /** Caller without a key; undefined for a key or token. */
  readonly publicCaller?: PublicCaller;
}

/** Whether the permissions of the key name an origin. A key without them permits every origin, and names none. */
export function namesOrigin({ record }: KeyAccess, origin: string): boolean {
  const { origins = [] } = parsePermissions(record.permissions ?? {});
  return originMatcher(origins)(origin);
}

/** The access of a request: its secret may lift allow-lists of its key. */
export function accessWithSecret(access: KeyAccess, authorization: string | undefined): KeyAccess {
  if (access.withSecret === undefined || passwordIn(authorization) === undefined) return access;
  return access.withSecret;
}

/** Where the accounts are: `KeyAccounts`. */
interface Accounts {
  of(name: string, key: string, concurrency: number | undefined): CallerAccount;
}

const newAccounts: Accounts = { of: (name) => new KeyAccount(name) };

const noCapabilities: Capabilities = { explain: false, private: false, verify: false, verifyLevel: 'off' };
const noTokens: TokenRules = { keys: [], isRequired: false };

/** What the secret of a key lifts with `overrideAllowlists`. */
const allowLists: readonly PermissionField[] = ['methods', 'contracts', 'origins', 'userAgents', 'ips'];

/** 401 before 403: only a caller with valid credentials learns that the key has other permissions. */
const namesInOrder = permissionNames.toSorted((a, b) => statusOf(a) - statusOf(b));

function statusOf(name: (typeof permissionNames)[number]): number {
  const row = permissionFields[name];
  return row.kind === 'entry' ? new RpcError(row.rejection).status : Infinity;
}

/**
 * Runs once per lookup.
 * @param record with the permissions of its plan
 * @param accounts has each account. Default: a new one
 * @param given.account whose limits apply unless the record says so. Default: the key's id
 * @param given.ceiling permissions that hold beside those of the record: what the record permits beyond them is not granted
 * @param given.methodCheck of callers without a key
 * @throws InvalidPermissionsError
 */
export function compileAccess(record: KeyRecord, accounts: Accounts = newAccounts, given: GivenAccess = {}): KeyAccess {
  const access = compileWithout([], record, accounts, given);
  if (access.capabilities.overridesAllowlists !== true) return access;
  const withSecret = compileWithout(allowLists, record, accounts, given);
  return { ...compileWithout(['secrets'], record, accounts, given), withSecret };
}

interface GivenAccess {
  readonly account?: string;
  readonly ceiling?: PermissionTexts | undefined;
  readonly methodCheck?: MethodCheck;
  readonly keyToken?: KeyToken;
}

/** @param skipped fields that do not hold */
function compileWithout(
  skipped: readonly PermissionField[],
  record: KeyRecord,
  accounts: Accounts,
  given: GivenAccess,
): KeyAccess {
  const { id, permissions: texts = {} } = record;
  const own = compilePermissions(texts, skipped);
  // The key is of the operator. The permissions in the claim of a token lift nothing of their ceiling.
  const wider = given.keyToken === undefined ? {} : texts;
  const permissions = given.ceiling === undefined ? own : narrow(own, compilePermissions(given.ceiling, [], wider));
  const { entry, methods, params, bounds } = permissions;
  const { account = given.account ?? id, capabilities = noCapabilities } = own;
  const limits = permissions.limits && { ...noLimits(account), ...permissions.limits };
  return {
    record,
    account: accounts.of(account, id, limits?.concurrency),
    entry,
    calls: callPermissions(methods, params, given.methodCheck),
    bounds,
    limits,
    capabilities,
    tokens: own.tokens,
    keyToken: given.keyToken,
  };
}

/** Permissions as the checks and limits that they stand for. */
interface CompiledPermissions {
  readonly entry: EntryCheck[];
  readonly methods: FieldCheck<MethodCheck>[];
  readonly params: FieldCheck<ParamsCheck>[];
  limits?: Partial<KeyLimits> | undefined;
  bounds?: Bounds | undefined;
  account?: string;
  capabilities?: Capabilities;
  tokens?: TokenRules;
}

/** @param wider permissions beside which these hold, and which name pass-through methods for them */
function compilePermissions(
  texts: PermissionTexts,
  skipped: readonly PermissionField[],
  wider: PermissionTexts = {},
): CompiledPermissions {
  const permissions = parsePermissions(texts);
  const others = { ...parsePermissions(wider), ...permissions };
  const compiled: CompiledPermissions = { entry: [], methods: [], params: [] };
  for (const name of namesInOrder) {
    const [row, value] = [permissionFields[name], permissions[name]];
    if (value === undefined || skipped.includes(name)) continue;
    const text = texts[name] ?? '';
    const rule = { name, value: row.display?.(text) ?? text };
    switch (row.kind) {
      case 'entry':
        compiled.entry.push({ ...rule, rejection: row.rejection, isAllowed: row.check(value) });
        break;
      case 'method':
        compiled.methods.push({ rule, isAllowed: row.check(value) });
        break;
      case 'params':
        compiled.params.push({ rule, isAllowed: row.check(value, others) });
        break;
      case 'charged':
        compiled.limits = { ...compiled.limits, ...row.limit(value, permissions), isCharged: true };
        break;
      case 'open':
        compiled.limits = { ...compiled.limits, ...row.limit(value) };
        break;
      case 'bound':
        compiled.bounds = { ...compiled.bounds, ...row.bound(value) };
        break;
      case 'capability':
        compiled.capabilities = { ...noCapabilities, ...compiled.capabilities, ...row.grant(value) };
        break;
      case 'token':
        compiled.tokens = { ...noTokens, ...compiled.tokens, ...row.rules(value) };
        break;
      case 'account':
        compiled.account = row.account(value);
        break;
      case 'plan':
        throw new InvalidPermissionsError(['plan: its permissions are not known here']);
    }
  }
  return compiled;
}

/** Narrows permissions so that both hold: each check must pass, and of two limits the lower one counts. */
function narrow(own: CompiledPermissions, ceiling: CompiledPermissions): CompiledPermissions {
  return {
    ...own,
    entry: [...own.entry, ...ceiling.entry],
    methods: [...own.methods, ...ceiling.methods],
    params: [...own.params, ...ceiling.params],
    limits: lowerLimits(own.limits, ceiling.limits),
    bounds: lowerNumbers(own.bounds, ceiling.bounds),
  };
}
