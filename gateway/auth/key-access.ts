import { KeyShare } from '../admission/key-share.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { originMatcher } from './formats/origin-pattern.ts';
import { CallPermissions, type MethodCheck, type ParamsCheck } from './permissions/call-permissions.ts';
import { EntryPermissions, type EntryCheck } from './permissions/entry-permissions.ts';
import type { Capabilities } from './permissions/field-kinds.ts';
import { noLimits, type KeyLimits } from './permissions/key-limits.ts';
import { permissionFields, permissionNames } from './permissions/permission-fields.ts';
import { parsePermissions } from './permissions/permissions.ts';
import type { Bounds } from '../spec/bounds.ts';
import type { KeyRecord } from './stores/key-store.ts';

/** An authenticated key with its compiled permissions. A part without permissions is undefined, so its check is skipped. */
export interface KeyAccess {
  readonly record: KeyRecord;
  /** Id of the account whose limits apply. Keys that replaced each other by rotation, and keys of a team, share one. */
  readonly account: string;
  /** What the account uses of this gateway. */
  readonly share: KeyShare;
  readonly entry: EntryPermissions | undefined;
  readonly calls: CallPermissions | undefined;
  readonly limits: KeyLimits | undefined;
  readonly bounds: Bounds | undefined;
  readonly capabilities: Capabilities;
}

/** Whether the permissions of the key name an origin. A key without them permits every origin, and names none. */
export function namesOrigin({ record }: KeyAccess, origin: string): boolean {
  const { origins = [] } = parsePermissions(record.permissions ?? {});
  return originMatcher(origins)(origin);
}

type ShareOf = (account: string, key: string, concurrency: number | undefined) => KeyShare;

const noCapabilities: Capabilities = { explain: false };

/** 401 before 403: only a caller with valid credentials learns that the key has other permissions. */
const namesInOrder = permissionNames.toSorted((a, b) => statusOf(a) - statusOf(b));

function statusOf(name: (typeof permissionNames)[number]): number {
  const row = permissionFields[name];
  return row.kind === 'entry' ? new RpcError(row.rejection).status : Infinity;
}

/**
 * Runs once per lookup.
 * @param shareOf the share of an account. Default: a new one
 * @throws InvalidPermissionsError
 */
export function compileAccess(record: KeyRecord, shareOf: ShareOf = (account) => new KeyShare(account)): KeyAccess {
  const { id } = record;
  const unrestricted = {
    record,
    account: id,
    entry: undefined,
    calls: undefined,
    limits: undefined,
    bounds: undefined,
  };
  if (record.permissions === undefined)
    return { ...unrestricted, share: shareOf(id, id, undefined), capabilities: noCapabilities };
  const permissions = parsePermissions(record.permissions);
  const entryChecks: EntryCheck[] = [];
  const methodChecks: MethodCheck[] = [];
  const paramsChecks: ParamsCheck[] = [];
  let limits: Partial<KeyLimits> | undefined;
  let bounds: Bounds | undefined;
  let account = id;
  let capabilities = noCapabilities;
  for (const name of namesInOrder) {
    const [row, value] = [permissionFields[name], permissions[name]];
    if (value === undefined) continue;
    switch (row.kind) {
      case 'entry':
        entryChecks.push({ rejection: row.rejection, isAllowed: row.check(value) });
        break;
      case 'method':
        methodChecks.push(row.check(value));
        break;
      case 'params':
        paramsChecks.push(row.check(value, permissions));
        break;
      case 'charged':
        limits = { ...limits, ...row.limit(value, permissions), isCharged: true };
        break;
      case 'open':
        limits = { ...limits, ...row.limit(value) };
        break;
      case 'bound':
        bounds = { ...bounds, ...row.bound(value) };
        break;
      case 'capability':
        capabilities = { ...capabilities, ...row.grant(value) };
        break;
      case 'account':
        account = row.account(value);
        break;
    }
  }
  return {
    record,
    account,
    share: shareOf(account, id, limits?.concurrency),
    entry: entryChecks.length > 0 ? new EntryPermissions(entryChecks) : undefined,
    calls: methodChecks.length + paramsChecks.length > 0 ? new CallPermissions(methodChecks, paramsChecks) : undefined,
    bounds,
    limits: limits === undefined ? undefined : { ...noLimits(account), ...limits },
    capabilities,
  };
}
