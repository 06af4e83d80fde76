import { isAddressRange } from '../../config/address-ranges.ts';
import { suggest } from '../../config/suggest.ts';
import { isDigest, isKeyId } from '../formats/key.ts';
import { isOriginPattern } from '../formats/origin-pattern.ts';

/** The same maximum as Infura's. */
const maxEntries = 30;
const maxNumber = 1_000_000_000_000;

/**
 * Permissions and limits of a key. Each is a text field of the key record, which an operator may also write by hand (in
 * Redis: `HSET gatehouse:key:<sha256> networks base,linea`). Flags of the command line and rows in docs/keys.md are made
 * from this table.
 */
const fields = {
  networks: {
    flag: '--networks <slugs>',
    meaning: 'networks that the key may use, by slug',
    read: list(/^[a-z0-9][a-z0-9-]{0,62}$/),
  },
  methods: {
    flag: '--methods <names>',
    meaning: 'methods that the key may call: names, or whole namespaces such as `eth`',
    read: list(/^[a-z][a-zA-Z0-9]*([_.][a-zA-Z0-9]+)?$/),
  },
  origins: {
    flag: '--origins <origins>',
    meaning: 'allowed Origin headers: `app.example.org`, `https://*.example.org`, `http://localhost:3000`',
    read: list(isOriginPattern),
  },
  userAgents: {
    flag: '--user-agents <texts>',
    meaning: 'allowed User-Agent headers: each entry is a substring',
    read: list(/^[^\p{C}]{1,200}$/u),
  },
  ips: {
    flag: '--ips <ranges>',
    meaning: 'allowed client addresses: `192.0.2.7`, `10.0.0.0/8`, `2001:db8::/32`',
    read: list(isAddressRange),
  },
  contracts: {
    flag: '--contracts <addresses>',
    meaning: 'contracts and accounts that calls may name, in methods that name one',
    read: list(/^0x[0-9a-fA-F]{40}$/),
  },
  expiresAt: {
    flag: '--expires <time>',
    meaning: 'expiry: `2027-01-31T12:00:00Z`; on the command line also a duration from now, `90d`, `12h` or `30m`',
    read: time,
  },
  rate: { flag: '--rate <number>', meaning: 'request units per second', read: decimal },
  burst: {
    flag: '--burst <number>',
    meaning: 'request units that may be used at once; default: those of one second',
    read: whole,
  },
  methodRates: {
    flag: '--method-rates <rates>',
    meaning: 'rates for single methods: `eth_getLogs=5` or, with a burst, `eth_getLogs=5/20`',
    read: methodRates,
  },
  daily: { flag: '--daily <number>', meaning: 'request units per day, from 00:00 UTC', read: whole },
  monthly: { flag: '--monthly <number>', meaning: 'request units per month, from the 1st, 00:00 UTC', read: whole },
  sockets: { flag: '--sockets <number>', meaning: 'maximum open WebSockets, per gateway', read: whole },
  subscriptions: {
    flag: '--subscriptions <number>',
    meaning: 'maximum open subscriptions, per gateway',
    read: whole,
  },
  secrets: {
    flag: '--secret',
    meaning: 'requires a secret as Basic authentication password; stored as SHA-256, with `@<time>` if it expires',
    read: secrets,
  },
  permissions: {
    flag: '--permissions <names>',
    meaning: 'capabilities: `explain` adds an explanation of routing to each response',
    read: list(/^explain$/),
  },
  account: {
    flag: '',
    meaning: 'id of the key that `keys rotate` replaced with this one: both share limits',
    read: (text: string) => (isKeyId(text) ? text : undefined),
  },
} as const satisfies Record<string, { flag: string; meaning: string; read: (text: string) => unknown }>;

export type PermissionField = keyof typeof fields;

export const permissionFields = Object.entries(fields).map(([name, { flag, meaning }]) => ({
  name: name as PermissionField,
  flag,
  meaning,
}));

/** Permissions as stored: text by field. */
export type PermissionTexts = Readonly<Record<string, string>>;

/** Parsed permissions. An absent field restricts nothing. */
export type KeyPermissions = {
  readonly [Name in PermissionField]?: Exclude<ReturnType<(typeof fields)[Name]['read']>, undefined>;
};

export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

export interface Secret {
  /** SHA-256 of the secret. */
  readonly digest: Buffer;
  /** Expiry in ms since 1970; Infinity: no expiry. */
  readonly deadline: number;
}

/** A record has an invalid permission, so its key must be rejected. The messages quote no value. */
export class InvalidPermissionsError extends Error {
  override readonly name = 'InvalidPermissionsError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** @throws InvalidPermissionsError with every problem. An unknown field is one: it may be a misspelt restriction. */
export function parsePermissions(texts: PermissionTexts): KeyPermissions {
  const problems: string[] = [];
  const permissions: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(texts)) {
    if (!Object.hasOwn(fields, name)) {
      problems.push(`${printable(name)} is not known${suggest(name, Object.keys(fields))}`);
      continue;
    }
    const { read, meaning } = fields[name as PermissionField];
    const value = read(text);
    if (value === undefined) problems.push(`${name}: expected ${meaning}`);
    else permissions[name] = value;
  }
  if (texts['burst'] !== undefined && texts['rate'] === undefined) problems.push('burst: requires rate');
  if (problems.length > 0) throw new InvalidPermissionsError(problems);
  return permissions;
}

/** Splits at commas. An empty text gives one empty entry, which is invalid. */
export function entriesOf(text: string): string[] {
  return text.split(',').map((entry) => entry.trim());
}

function list(form: RegExp | ((entry: string) => boolean)): (text: string) => readonly string[] | undefined {
  const matches = form instanceof RegExp ? (entry: string) => form.test(entry) : form;
  return (text) => {
    const entries = entriesOf(text);
    return entries.length <= maxEntries && entries.every(matches) ? entries : undefined;
  };
}

function time(text: string): number | undefined {
  const isIso = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/.test(text);
  const at = isIso ? Date.parse(text) : NaN;
  return Number.isNaN(at) ? undefined : at;
}

function whole(text: string): number | undefined {
  return /^\d{1,13}$/.test(text) ? inRange(Number(text)) : undefined;
}

function decimal(text: string): number | undefined {
  return /^\d{1,13}(\.\d{1,6})?$/.test(text) ? inRange(Number(text)) : undefined;
}

function inRange(number: number): number | undefined {
  return number > 0 && number <= maxNumber ? number : undefined;
}

function methodRates(text: string): ReadonlyMap<string, Rate> | undefined {
  const rates = new Map<string, Rate>();
  for (const entry of entriesOf(text)) {
    const [, method, perSecond, burst] = /^([a-z][a-zA-Z0-9]*[_.][a-zA-Z0-9]+)=([\d.]+)(?:\/(\d+))?$/.exec(entry) ?? [];
    const rate = rateOf(decimal(perSecond ?? ''), burst === undefined ? undefined : (whole(burst) ?? NaN));
    if (method === undefined || rate === undefined || rates.has(method)) return undefined;
    rates.set(method, rate);
  }
  return rates.size <= maxEntries ? rates : undefined;
}

/** @returns undefined without a rate, or if the burst is NaN (invalid) */
export function rateOf(perSecond: number | undefined, burst: number | undefined): Rate | undefined {
  if (perSecond === undefined || Number.isNaN(burst)) return undefined;
  return { perSecond, burst: burst ?? Math.max(1, Math.ceil(perSecond)) };
}

function secrets(text: string): readonly Secret[] | undefined {
  const found: Secret[] = [];
  for (const entry of entriesOf(text)) {
    const [digest = '', expiresAt] = entry.split(/@(.*)/s);
    const deadline = expiresAt === undefined ? Number.POSITIVE_INFINITY : time(expiresAt);
    if (!isDigest(digest) || deadline === undefined) return undefined;
    found.push({ digest: Buffer.from(digest, 'hex'), deadline });
  }
  return found.length <= maxEntries ? found : undefined;
}

function printable(name: string): string {
  return JSON.stringify(name.slice(0, 40));
}
