import { durationOf } from '../../auth/formats/duration.ts';
import { importKeys } from '../../auth/manage/import-keys.ts';
import { mergePermissions, type KeyStore, type PermissionChange } from '../../auth/stores/key-store.ts';
import { readName, type KeyManager } from '../../auth/manage/manage-keys.ts';
import { displayedRecord } from '../../auth/manage/displayed-record.ts';
import { readUsage } from '../../usage/read-usage.ts';
import { lastDays, usageRetentionDays, type UsageStore } from '../../usage/usage-store.ts';
import type { LogLevel } from '../../config/log-level.ts';
import { AdminError } from './admin-document.ts';
import type { ExplainCalls } from './explain-route.ts';

/** A request whose body is validated. */
export interface AdminRequest {
  readonly id: string;
  /** Slug of a network. */
  readonly network: string;
  readonly body: unknown;
  readonly query: Readonly<Record<string, unknown>>;
  /** Records the caller in the audit. */
  readonly manager: KeyManager;
  readonly keys: KeyStore;
  readonly usage: UsageStore;
  /** Folder of the key file. */
  readonly dataDir: string;
  readonly explain: ExplainCalls;
  readonly logLevel: LogLevel;
  /** Who sends the request, as in the audit log. */
  readonly by: string;
}

export interface AdminResponse {
  readonly status: number;
  readonly body: object;
}

type AdminHandler = (request: AdminRequest) => Promise<AdminResponse>;
/** Permissions as in a body: text, a number or a list; null removes one. */
type PermissionValues = Readonly<Record<string, string | number | readonly string[] | null>>;

const defaultGrace = '24h';
const defaultDays = '30';

/** The function for each operation of the document, by its id. */
export const adminOperations: Readonly<Record<string, AdminHandler>> = {
  list: async ({ manager }) => ok({ keys: (await manager.list()).map(displayedRecord) }),
  create: async ({ manager, body }) => {
    const { name: given, rules = {}, key, secret = false } = body as NewKey;
    const name = readName(given);
    if (name === undefined) throw new AdminError(400, 'name: expected 1 to 64 printable characters', { field: 'name' });
    const texts = mergePermissions(undefined, toPermissionTexts(rules));
    return created(await manager.create(name, texts, { ...(key !== undefined && { given: key }), withSecret: secret }));
  },
  import: async ({ manager, keys, dataDir }) => ok(await importKeys(dataDir, keys, manager)),
  show: async ({ manager, id }) => ok(displayedRecord(await manager.show(id))),
  update: async ({ manager, id, body }) => {
    const { rules = {}, secret } = body as { rules?: PermissionValues; secret?: boolean };
    return ok(await manager.update(id, toPermissionTexts(rules), secret));
  },
  rotate: async ({ manager, id, body }) => {
    const { grace = defaultGrace, secret = false } = body as { grace?: string; secret?: boolean };
    const graceMs = durationOf(grace) ?? 0;
    return created(secret ? await manager.rotateSecret(id, graceMs) : await manager.rotate(id, graceMs));
  },
  revoke: async ({ manager, id }) => ok(displayedRecord(await manager.revoke(id))),
  usage: async ({ manager, usage, id, query: { days: given = defaultDays } }) => {
    const days = typeof given === 'string' && /^\d{1,3}$/.test(given) ? Number(given) : 0;
    if (days < 1 || days > usageRetentionDays) {
      throw new AdminError(400, `days: expected a whole number from 1 to ${usageRetentionDays}`, { field: 'days' });
    }
    return ok({ usage: await readUsage(usage, await manager.idsOf(id), lastDays(days)) });
  },
  explain: async ({ network, body, explain }) => {
    const explained = await explain(network, body);
    if (explained === undefined) throw new AdminError(404, 'there is no network of this name');
    return ok(explained);
  },
  showLogLevel: ({ logLevel }) => Promise.resolve(ok({ level: logLevel.current })),
  setLogLevel: async ({ manager, body, logLevel, by }) => {
    const { level } = body as { level: string };
    logLevel.set(level, by);
    await manager.auditLogLevel(level);
    return ok({ level });
  },
};

interface NewKey {
  readonly name: string;
  readonly rules?: PermissionValues;
  readonly key?: string;
  readonly secret?: boolean;
}

/** Converts values to the texts of a key record. An empty value removes a permission, as on the command line. */
function toPermissionTexts(rules: PermissionValues): PermissionChange {
  const entries = Object.entries(rules).map(([field, value]) => {
    const text = value === null ? '' : Array.isArray(value) ? value.join(',') : String(value).trim();
    return [field, text === '' ? undefined : text];
  });
  return Object.fromEntries(entries) as PermissionChange;
}

function ok(body: object): AdminResponse {
  return { status: 200, body };
}

function created(body: object): AdminResponse {
  return { status: 201, body };
}
