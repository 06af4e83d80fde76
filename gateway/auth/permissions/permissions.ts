import { isAddressRange } from '../../config/address-ranges.ts';
import { suggest } from '../../config/suggest.ts';
import { isDigest, isKeyId } from '../formats/key.ts';
import { isOriginPattern } from '../formats/origin-pattern.ts';

/** Infura's number. */
const maxEntries = 30;
const maxNumber = 1_000_000_000_000;

/**
 * What a key may do, and how much of it: each a text field of its record, which an operator may write by hand (in
 * Redis: `HSET gatehouse:key:<sha256> networks base,linea`). The command line has a flag for each, docs/keys.md a row.
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

/** As stored: text by field. */
export type PermissionTexts = Readonly<Record<string, string>>;

/** As parsed. A field that is not there restricts nothing. */
export type KeyPermissions = {
  readonly [Name in PermissionField]?: Exclude<ReturnType<(typeof fields)[Name]['read']>, undefined>;
};

export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

export interface Secret {
  /** SHA-256 of it. */
  readonly digest: Buffer;
  /** When it ends, in ms since 1970; Infinity: never. */
  readonly deadline: number;
}

/** A record that says something which cannot be understood must open nothing. The messages quote no value. */
export class InvalidPermissionsError extends Error {
  override readonly name = 'KeyRulesError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** @throws KeyRulesError that names every mistake: unknown fields too, for they are misspellings of a restriction. */
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
  if (texts['burst'] !== undefined && texts['rate'] === undefined) problems.push('burst: there is no rate');
  if (problems.length > 0) throw new InvalidPermissionsError(problems);
  return permissions;
}

/** Entries between commas; an empty list is none at all, and so a mistake. */
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

/** @returns undefined where there is no rate, or the burst is none */
export function rateOf(perSecond: number | undefined, burst: number | undefined): Rate | undefined {
  if (perSecond === undefined || Number.isNaN(burst)) return undefined;
  return { perSecond, burst: burst ?? Math.max(1, Math.ceil(perSecond)) };
}

function secrets(text: string): readonly Secret[] | undefined {
  const found: Secret[] = [];
  for (const entry of entriesOf(text)) {
    const [digest = '', end] = entry.split(/@(.*)/s);
    const until = end === undefined ? Number.POSITIVE_INFINITY : time(end);
    if (!isDigest(digest) || until === undefined) return undefined;
    found.push({ digest: Buffer.from(digest, 'hex'), deadline: until });
  }
  return found.length <= maxEntries ? found : undefined;
}

function printable(name: string): string {
  return JSON.stringify(name.slice(0, 40));
}
