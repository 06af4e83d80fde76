import { durationOf } from '../../auth/formats/duration.ts';
import { importKeys } from '../../backup/import-keys.ts';
import type { PlanSource } from '../../auth/permissions/plans.ts';
import { mergePermissions, type KeyRecord, type KeyStore, type PermissionChange } from '../../auth/stores/key-store.ts';
import { StoreUnreachable } from '../../store/store-error.ts';
import { readName, type CreatedKey, type KeyManager } from '../../auth/manage/manage-keys.ts';
import { shownTokenKeys } from '../../auth/manage/displayed-record.ts';
import { KeyOperationError, type RevokedKeys } from '../../auth/manage/key-operation-error.ts';
import { unknownNetworks } from '../../auth/unknown-names.ts';
import type { Limiter } from '../../limits/limiter.ts';
import {
  readReportDay,
  readReportParts,
  readUsage,
  reportParts,
  reportUsage,
  withNames,
} from '../../usage/usage-report.ts';
import { lastDays, USAGE_RETENTION_DAYS, type UsageStore } from '../../usage/usage-store.ts';
import type { Log } from '../../config/log.ts';
import type { LogLevel } from '../../config/log-level.ts';
import type { ActiveDrains } from '../../drains/active-drains.ts';
import { drainWarnings, newDrain } from '../../drains/drains.ts';
import type { NetworkFacts, UpstreamFacts } from '../pages/network-facts.ts';
import { AdminError, invalid } from './read-admin-api.ts';
import type { ExplainCalls } from './explain-route.ts';
import { listKeys, type ListQuery } from './list-keys.ts';
import type { EventFilter } from '../../observability/event-list.ts';
import type { RecentCallFilter } from '../../observability/recent-calls.ts';
import type { MachineLists } from './machine-lists.ts';
import { readChoices } from './read-choices.ts';
import { readListUsage, readQuotas, shownKey, shownKeys } from './shown-keys.ts';

/** Parts of the gateway that operations use. */
export interface AdminContext {
  readonly keys: KeyStore;
  readonly usage: UsageStore;
  /** DATA_DIR. */
  readonly dataDir: string;
  readonly log: Log;
  readonly explain: ExplainCalls;
  readonly logLevel: LogLevel;
  /** The active networks. */
  readonly networks: () => readonly NetworkFacts[];
  readonly upstreams: () => readonly UpstreamFacts[];
  readonly drains: Pick<ActiveDrains, 'add' | 'remove'>;
  readonly limiter: Limiter;
  /** Port of the gateway's addresses. */
  readonly port: () => number;
  readonly lists: MachineLists;
}

/** A request whose query and body are validated, with their defaults. The first four are parts of its path. */
export interface AdminRequest extends AdminContext {
  readonly id: string;
  readonly network: string;
  readonly upstream: string;
  readonly kid: string;
  readonly body: unknown;
  /** The operation's parameters in the document. */
  readonly query: unknown;
  /** Records the caller in the audit. */
  readonly manager: KeyManager;
}

export interface AdminResponse {
  readonly status: number;
  readonly body: object;
}

type AdminHandler = (request: AdminRequest) => Promise<AdminResponse>;
/** Permissions as in a body: text, a number or a list; null removes one. */
type PermissionValues = Readonly<Record<string, string | number | readonly string[] | null>>;

/** Keys of one listing whose usage is read. */
const MAX_KEYS_WITH_USAGE = 100;

/** The function for each operation of the document, by its id. */
export const adminOperations: Readonly<Record<string, AdminHandler>> = {
  list: async ({ keys, usage, limiter, query, log, manager: { plans } }) => {
    const { days: dayCount = 0, ...listed } = query as ListQuery & { days?: number };
    const days = lastDays(dayCount);
    const hasDays = days.length > 0;
    if (hasDays && (listed.limit ?? Infinity) > MAX_KEYS_WITH_USAGE)
      throw invalid('limit', `a whole number from 1 to ${MAX_KEYS_WITH_USAGE}`);
    const callsOf = async (ids: readonly string[]): Promise<number[]> =>
      (await usage.sum(ids, days)).map(({ calls }) => calls);
    const list = await listKeys((await keys.entries()).values(), listed, plans, hasDays ? callsOf : undefined);
    if (!hasDays) return ok({ ...list, keys: await shownKeys(list.keys, plans, undefined) });
    const sums = await readListUsage(usage, list.keys, days, log);
    const quotasOf = (record: KeyRecord): ReturnType<typeof readQuotas> => readQuotas(limiter, record, plans);
    return ok({ ...list, keys: await shownKeys(list.keys, plans, sums, quotasOf) });
  },
  choices: async ({ keys, manager }) =>
    ok({ ...(await readChoices((await keys.entries()).values())), plans: Object.keys(manager.plans()) }),
  create: async (request) => {
    const { manager, body } = request;
    const { name: given, permissions = {}, key, secret = false } = body as NewKey;
    const name = readNewName(given);
    const texts = mergePermissions(undefined, toPermissionTexts(permissions));
    return created(withWarnings(await manager.create(name, texts, { given: key, secret }), texts, request));
  },
  import: async ({ manager, keys, dataDir }) => ok(await importKeys(dataDir, keys, manager)),
  show: async ({ manager, limiter, id }) => {
    const record = await manager.show(id);
    return ok({ ...shownKey(record, manager.plans), quotas: await readQuotas(limiter, record, manager.plans) });
  },
  update: async (request) => {
    const { manager, id, body } = request;
    const { name: given, permissions = {}, secret } = body as Partial<NewKey>;
    const change = toPermissionTexts(permissions);
    if (given !== undefined) {
      const renamed = await manager.rename(id, readNewName(given));
      if (Object.keys(change).length === 0 && secret === undefined) return ok(renamed);
    }
    return ok(withWarnings(await manager.update(id, change, secret), change, request));
  },
  rotate: async ({ manager, id, body }) => {
    const { grace, secret = false } = body as { grace: string; secret?: boolean };
    const graceMs = durationOf(grace) ?? 0;
    return created(secret ? await manager.rotateSecret(id, graceMs) : await manager.rotate(id, graceMs));
  },
  listTokenKeys: async ({ manager, id }) => ok({ tokenKeys: shownTokenKeys(await manager.show(id)) }),
  addTokenKey: async ({ manager, id, body }) => {
    const { name, publicKey, kid } = body as { name: string; publicKey: string; kid?: string };
    return created(await manager.addTokenKey(id, publicKey, name, kid));
  },
  removeTokenKey: async ({ manager, id, kid }) => ok(await manager.removeTokenKey(id, kid)),
  revoke: async ({ manager, id }) => ok(shownKey(await manager.revoke(id), manager.plans)),
  revokeAll: async ({ manager, body }) =>
    ok(revocations(await manager.revokeAll((body as { ids: string[] }).ids), manager.plans)),
  usage: async ({ manager, usage, id, query }) => {
    const { days, rotated } = query as { days: number; rotated: boolean };
    const keys = await manager.idsOf(id, rotated);
    return ok({ keys, usage: await readUsage(usage, keys, lastDays(days)) });
  },
  usageOfDays: async ({ usage, keys, query }) => {
    const { day, days, by, limit } = query as { day?: string; days?: number; by: string; limit: number };
    const parts = readReportParts(by);
    if (parts === undefined) throw invalid('by', `${reportParts.join(', ')}, or several with commas`);
    const all = readReportDays(day, days);
    const { rows, total } = await reportUsage(usage, all, parts, limit);
    const [first, last] = [all[0], all.at(-1)];
    const range = first === last ? { day: first } : { from: first, to: last };
    const named = parts.includes('key') ? withNames(rows, (await keys.entries()).values()) : rows;
    return ok({ ...range, total, usage: named });
  },
  calls: async ({ query, lists }) => {
    const { limit, from, to, ...filter } = query as RecentCallFilter & { limit: number };
    const times = { ...readTime('from', from), ...readTime('to', to) };
    const calls = await lists.calls({ ...filter, ...times }, limit);
    return ok({ params: lists.paramsMode, calls });
  },
  events: async ({ query, lists }) => {
    const { limit, ...filter } = query as EventFilter & { limit: number };
    return ok({ events: await lists.events(filter, limit) });
  },
  networks: ({ networks, port }) => Promise.resolve(ok({ networks: networks(), port: port() })),
  explain: async ({ network, body, explain }) => {
    const explained = await explain(network, body);
    if (explained === undefined) throw new AdminError(404, 'there is no network of this name');
    return ok(explained);
  },
  upstreams: ({ upstreams }) => Promise.resolve(ok({ upstreams: upstreams() })),
  drain: async (request) => {
    requireUpstream(request);
    const { network, upstream, upstreams, body, manager, drains } = request;
    const { for: time } = body as { for?: string };
    const drain = newDrain(network, upstream, manager.by, time === undefined ? undefined : durationOf(time));
    const own = upstreams().filter((one) => one.network === network);
    const inService = own.filter((one) => one.drain === undefined || one.upstream === upstream);
    const warnings = drainWarnings(
      drain,
      inService.map((one) => one.upstream),
    );
    await drains.add(drain);
    await manager.auditDrain('drain', network, upstream);
    return ok({ ...drain, ...(warnings.length > 0 && { warnings }) });
  },
  undrain: async (request) => {
    const { network, upstream, manager, drains } = request;
    // Its network file may have been removed meanwhile.
    const wasDrained = await drains.remove(network, upstream);
    if (!wasDrained) requireUpstream(request);
    if (wasDrained) await manager.auditDrain('undrain', network, upstream);
    return ok({ network, upstream, wasDrained });
  },
  showLogLevel: ({ logLevel }) => Promise.resolve(ok({ level: logLevel.current })),
  setLogLevel: async ({ manager, body, logLevel }) => {
    const { level } = body as { level: string };
    logLevel.set(level, manager.by);
    await manager.audit('log-level', '-', level);
    return ok({ level });
  },
};

interface NewKey {
  readonly name: string;
  readonly permissions?: PermissionValues;
  readonly key?: string;
  readonly secret?: boolean;
}

/** Converts values to the texts of a key record. An empty value removes a permission, as on the command line. */
function toPermissionTexts(permissions: PermissionValues): PermissionChange {
  const entries = Object.entries(permissions).map(([field, value]) => {
    const text = value === null ? '' : Array.isArray(value) ? value.join(',') : String(value).trim();
    return [field, text === '' ? undefined : text];
  });
  return Object.fromEntries(entries) as PermissionChange;
}

/** @throws StoreUnreachable if the store failed meanwhile: the request can be repeated */
function revocations({ revoked, failed }: RevokedKeys, plans: PlanSource): object {
  for (const { error } of failed) if (error instanceof StoreUnreachable) throw error;
  return {
    revoked: revoked.map((record) => shownKey(record, plans)),
    failed: failed.map(({ id, error }) => ({
      id,
      message: error instanceof KeyOperationError ? error.sentence : error.message,
    })),
  };
}

/** A network without a file is only a warning: its file may follow. */
function withWarnings(result: CreatedKey, change: PermissionChange, { networks }: AdminContext): CreatedKey {
  const slugs = networks().map(({ slug }) => slug);
  const unknown = unknownNetworks(change, slugs);
  return unknown.length === 0 ? result : { ...result, warnings: [...(result.warnings ?? []), ...unknown] };
}

/** Time of a filter, in the form that calls have. @throws AdminError */
function readTime<Name extends string>(field: Name, text: string | undefined): Partial<Record<Name, string>> {
  if (text === undefined) return {};
  const at = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z$/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(at)) throw invalid(field, 'a time in UTC such as 2026-01-31T12:00:00Z');
  return { [field]: new Date(at).toISOString() } as Partial<Record<Name, string>>;
}

/** The days of a report, oldest first: one, or a number of days until today. @throws AdminError */
function readReportDays(day: string | undefined, days: number | undefined): string[] {
  if (days !== undefined && day === undefined) return lastDays(days);
  const one = days === undefined ? readReportDay(day ?? 'yesterday') : undefined;
  if (one !== undefined) return [one];
  throw invalid('day', `today, yesterday or a date of the last ${USAGE_RETENTION_DAYS} days, or days in place of it`);
}

/** @throws AdminError 404 */
function requireUpstream({ network, upstream, upstreams }: AdminRequest): void {
  if (upstreams().some((one) => one.network === network && one.upstream === upstream)) return;
  throw new AdminError(404, 'there is no upstream of this name on a network of this name: see GET /admin/upstreams');
}

/** @throws AdminError 400 */
function readNewName(given: string): string {
  const name = readName(given);
  if (name !== undefined) return name;
  throw invalid('name', '1 to 64 printable characters');
}

function ok(body: object): AdminResponse {
  return { status: 200, body };
}

function created(body: object): AdminResponse {
  return { status: 201, body };
}
