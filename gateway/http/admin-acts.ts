import { durationOf } from '../keys/duration.ts';
import { importKeys } from '../keys/import-keys.ts';
import { changedRules, type KeyStore, type RuleChange } from '../keys/key-store.ts';
import { readName, type KeyManager } from '../keys/manage-keys.ts';
import { shownRecord } from '../keys/shown-record.ts';
import { lastDays, usageKeptDays, type UsageStore } from '../usage/usage-store.ts';
import { AdminRefusal } from './admin-document.ts';
import type { ExplainCalls } from './explain-calls.ts';

/** A request of which the body was checked. */
export interface AdminRequest {
  readonly id: string;
  /** A slug. */
  readonly network: string;
  readonly body: unknown;
  readonly query: Readonly<Record<string, unknown>>;
  /** Notes in the audit who asks. */
  readonly manager: KeyManager;
  readonly keys: KeyStore;
  readonly usage: UsageStore;
  /** Where the key file is. */
  readonly dataDir: string;
  readonly explain: ExplainCalls;
}

export interface AdminAnswer {
  readonly status: number;
  readonly body: object;
}

type Act = (request: AdminRequest) => Promise<AdminAnswer>;
/** As in a body: text, a number, a list; null takes a rule away. */
type RuleValues = Readonly<Record<string, string | number | readonly string[] | null>>;

const graceUsual = '24h';
const daysUsual = '30';

/** What is done for each operation of the document, by its id. */
export const adminActs: Readonly<Record<string, Act>> = {
  list: async ({ manager }) => ok({ keys: (await manager.list()).map(shownRecord) }),
  create: async ({ manager, body }) => {
    const { name: given, rules = {}, key, secret = false } = body as NewKey;
    const name = readName(given);
    if (name === undefined) throw new AdminRefusal(400, 'name: expected 1 to 64 printable characters', 'name');
    const texts = changedRules(undefined, textsOf(rules));
    return made(await manager.create(name, texts, { ...(key !== undefined && { given: key }), withSecret: secret }));
  },
  import: async ({ manager, keys, dataDir }) => ok(await importKeys(dataDir, keys, manager)),
  show: async ({ manager, id }) => ok(shownRecord(await manager.show(id))),
  update: async ({ manager, id, body }) => {
    const { rules = {}, secret } = body as { rules?: RuleValues; secret?: boolean };
    return ok(await manager.update(id, textsOf(rules), secret));
  },
  rotate: async ({ manager, id, body }) => {
    const { grace = graceUsual, secret = false } = body as { grace?: string; secret?: boolean };
    const graceMs = durationOf(grace) ?? 0;
    return made(secret ? await manager.rotateSecret(id, graceMs) : await manager.rotate(id, graceMs));
  },
  revoke: async ({ manager, id }) => ok(shownRecord(await manager.revoke(id))),
  usage: async ({ manager, usage, id, query: { days: given = daysUsual } }) => {
    const days = typeof given === 'string' && /^\d{1,3}$/.test(given) ? Number(given) : 0;
    if (days < 1 || days > usageKeptDays) {
      throw new AdminRefusal(400, `days: expected a whole number from 1 to ${usageKeptDays}`, 'days');
    }
    await manager.show(id);
    return ok({ usage: await usage.read(id, lastDays(days)) });
  },
  explain: async ({ network, body, explain }) => {
    const explained = await explain(network, body);
    if (explained === undefined) throw new AdminRefusal(404, 'there is no network of this name');
    return ok(explained);
  },
};

interface NewKey {
  readonly name: string;
  readonly rules?: RuleValues;
  readonly key?: string;
  readonly secret?: boolean;
}

/** As records have them. What is empty takes a rule away, as at the command line. */
function textsOf(rules: RuleValues): RuleChange {
  const entries = Object.entries(rules).map(([field, value]) => {
    const text = value === null ? '' : Array.isArray(value) ? value.join(',') : String(value).trim();
    return [field, text === '' ? undefined : text];
  });
  return Object.fromEntries(entries) as RuleChange;
}

function ok(body: object): AdminAnswer {
  return { status: 200, body };
}

function made(body: object): AdminAnswer {
  return { status: 201, body };
}
