import { isAddressRange } from './address-ranges.ts';

/** Every setting of the gateway: one row each, all from the environment. README's table is held against this one. */
const table = {
  HOST: { type: 'string', default: '127.0.0.1', meaning: 'Address to listen on' },
  PORT: { type: 'port', default: 8545, meaning: 'Port for calls; 0 takes a free one' },
  OPS_PORT: {
    type: 'port',
    default: undefined,
    meaning: 'Port for /metrics, /livez and /readyz; unset: they are on PORT',
  },
  ADMIN_TOKEN: {
    type: 'token',
    default: undefined,
    meaning: 'Bearer token of the admin API on OPS_PORT, 16 characters or more; unset: there is none',
  },
  STATUS_PAGE: {
    type: ['public', 'ops', 'off'],
    default: 'public',
    meaning: 'Status pages: `public` at the root and at each base URL, `ops` on OPS_PORT only, `off` nowhere',
  },
  REDIS_URL: {
    type: 'string',
    default: undefined,
    meaning: 'Redis that holds keys, limits and usage; unset: files in DATA_DIR',
  },
  NETWORKS_DIR: {
    type: 'string',
    default: 'networks',
    meaning: 'Folder of network files; where it is not there, the package’s own',
  },
  DATA_DIR: {
    type: 'string',
    default: '.gatehouse',
    meaning: 'Folder for the key file, usage, and the notes of the demo',
  },
  LOG_LEVEL: {
    type: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    default: 'info',
    meaning: 'Least level that is logged',
  },
  ACCESS_LOG: {
    type: ['off', 'on'],
    default: 'off',
    meaning: '`on`: a line for each request, at the level info: id, network, key id, method or batch size, outcome, ms',
  },
  NODE_ENV: {
    type: 'string',
    default: undefined,
    meaning: '`production`: no development key and no local chain',
  },
  KEY_STALE_MAX_S: {
    type: 'count',
    default: 3600,
    meaning: 'Seconds that a key seen before goes on while Redis is away',
  },
  UNKNOWN_KEYS_MAX: { type: 'count', default: 500, meaning: 'Unknown keys that one address may try in 10 s' },
  TRUSTED_PROXIES: {
    type: 'ranges',
    default: undefined,
    meaning: 'Proxies whose X-Forwarded-For, -Host and -Proto count, as `10.0.0.0/8,::1`; unset: none',
  },
  QUOTAS_WITHOUT_REDIS: {
    type: ['open', 'closed'],
    default: 'open',
    meaning: 'Keys with a daily or monthly quota while Redis is away: `open` go on, `closed` get 503',
  },
  METRICS_PER_KEY: {
    type: ['off', 'on'],
    default: 'off',
    meaning: '`on`: /metrics tells what each key did, by its id',
  },
  CACHE_MAX_BYTES: {
    type: 'amount',
    default: 67_108_864,
    meaning: 'Memory for answers that are kept for as long as they are true; 0: none are',
  },
  CACHE_REDIS_URL: {
    type: 'string',
    default: undefined,
    meaning: 'Redis by which gateways share answers that are true for good, best one of its own; unset: none',
  },
  BODY_MAX_BYTES: { type: 'count', default: 5_000_000, meaning: 'Largest request body, unpacked too' },
  REQUESTS_MAX: { type: 'count', default: 10_000, meaning: 'Most requests under way at once; past it 503' },
  NETWORK_CONCURRENCY: {
    type: 'count',
    default: 1000,
    meaning: 'Calls of one network under way at its upstreams at once',
  },
  NETWORK_QUEUE_MAX: {
    type: 'count',
    default: 1000,
    meaning: 'Calls of one network that wait, up to 1 s, for one of those to end; past it 503',
  },
  BODIES_MAX_BYTES: {
    type: 'count',
    default: 100_000_000,
    meaning: 'Most bytes of bodies and of untaken answers held at once; past it 503',
  },
  COMPRESS_ANSWERS_OVER_BYTES: {
    type: 'count',
    default: undefined,
    meaning: 'Larger answers are gzipped for callers who take that; unset: none',
  },
  BATCH_MAX_ITEMS: { type: 'count', default: 1000, meaning: 'Most calls in a batch' },
  BATCH_ANSWER_MAX_BYTES: { type: 'count', default: 25_000_000, meaning: 'Largest answer to a batch' },
  BATCH_CONCURRENCY: { type: 'count', default: 50, meaning: 'Calls of one batch under way at once' },
  REQUEST_TIMEOUT_MS: { type: 'count', default: 30_000, meaning: 'Time for a request to arrive whole' },
  CALL_TIMEOUT_MS: {
    type: 'count',
    default: 15_000,
    meaning: 'Time for a call, or for a whole batch, all attempts together',
  },
  UPSTREAM_TIMEOUT_MS: {
    type: 'count',
    default: 6_000,
    meaning: 'Time for one attempt at one upstream; `timeoutMs` of an upstream goes before it',
  },
  UPSTREAM_RESPONSE_MAX_BYTES: { type: 'count', default: 32_000_000, meaning: 'Largest reply of an upstream' },
  UPSTREAM_CONNECTIONS: { type: 'count', default: 64, meaning: 'Most connections to one upstream' },
  WS_MESSAGE_MAX_BYTES: {
    type: 'count',
    default: undefined,
    meaning: 'Largest message of a WebSocket caller; unset: as BODY_MAX_BYTES',
  },
  WS_MESSAGES_MAX: { type: 'count', default: 100, meaning: 'Messages of one WebSocket under way at once' },
  WS_UNREAD_MAX_BYTES: {
    type: 'count',
    default: 32_000_000,
    meaning: 'Answers that a WebSocket caller may leave unread before it is cut off',
  },
  WS_SOCKETS_PER_KEY: { type: 'count', default: 1000, meaning: 'WebSockets open at once with one key' },
  WS_SUBSCRIPTIONS_PER_KEY: {
    type: 'count',
    default: 10_000,
    meaning: 'Subscriptions open at once with one key; 100 addresses and topics of a filter count as one more',
  },
  DRAIN_DELAY_MS: {
    type: 'amount',
    default: undefined,
    meaning: 'After SIGTERM, time to take calls while /readyz says 503; unset: 5000 in production, else 0',
  },
  DRAIN_TIMEOUT_MS: { type: 'count', default: 10_000, meaning: 'Time for calls under way at shutdown' },
} as const satisfies Record<string, Row>;

/** An admin token that is shorter may be guessed. */
const TOKEN_MIN = 16;

/** Node's timers hold 2³¹ - 1 ms, and fire at once for more; the drain's is twice its setting. */
const COUNT_MAX = 1_000_000_000;

interface Row {
  /** An amount may be 0, a count may not. */
  readonly type: 'string' | 'port' | 'count' | 'amount' | 'ranges' | 'token' | readonly string[];
  readonly default: string | number | undefined;
  readonly meaning: string;
}

type Table = typeof table;
type ValueOf<R extends Row> = R['type'] extends 'port' | 'count' | 'amount' ? number : string;
export type Settings = {
  readonly [Name in keyof Table]: Table[Name]['default'] extends undefined
    ? ValueOf<Table[Name]> | undefined
    : ValueOf<Table[Name]>;
};

export const settingRows = Object.entries(table).map(([name, row]: [string, Row]) => ({ name, ...row }));

/**
 * Reads the settings from an environment. An empty value counts as unset.
 * @throws SettingsError that names every mistake at once.
 */
export function readSettings(env: Record<string, string | undefined>): Settings {
  const mistakes: string[] = [];
  const settings: Record<string, string | number | undefined> = {};
  for (const row of settingRows) {
    const given = env[row.name];
    settings[row.name] = given === undefined || given === '' ? row.default : parse(row, given, mistakes);
  }
  if (settings['ADMIN_TOKEN'] !== undefined && settings['OPS_PORT'] === undefined) {
    mistakes.push('ADMIN_TOKEN: the admin API is on OPS_PORT only, which is not set');
  }
  if (settings['STATUS_PAGE'] === 'ops' && settings['OPS_PORT'] === undefined) {
    mistakes.push('STATUS_PAGE: ops means OPS_PORT, which is not set');
  }
  if (settings['CACHE_REDIS_URL'] !== undefined && settings['CACHE_MAX_BYTES'] === 0) {
    mistakes.push('CACHE_REDIS_URL: what is kept there is kept in memory first, and CACHE_MAX_BYTES is 0');
  }
  if (mistakes.length > 0) throw new SettingsError(mistakes);
  return settings as Settings;
}

export class SettingsError extends Error {
  override readonly name = 'SettingsError';

  constructor(mistakes: string[]) {
    super(mistakes.join('\n'));
  }
}

function parse(row: Row & { name: string }, given: string, mistakes: string[]): string | number | undefined {
  if (row.type === 'string') return given;
  if (row.type === 'token') {
    // What a header can carry (RFC 6750 §2.1).
    if (!/^[A-Za-z0-9._~+/-]+=*$/.test(given) || given.length < TOKEN_MIN) {
      mistakes.push(`${row.name}: expected ${TOKEN_MIN} characters or more, of letters, digits and -._~+/`);
    }
    return given;
  }
  if (row.type === 'ranges') {
    if (!rangesIn(given).every(isAddressRange)) {
      mistakes.push(`${row.name}: expected addresses and ranges such as 10.0.0.0/8, separated by commas`);
    }
    return given;
  }
  if (Array.isArray(row.type)) {
    if (!row.type.includes(given)) mistakes.push(`${row.name}: expected one of ${row.type.join(', ')}`);
    return given;
  }
  const number = /^\d{1,15}$/.test(given) ? Number(given) : NaN;
  const least = row.type === 'count' ? 1 : 0;
  if (row.type === 'port') {
    if (!(number <= 65_535)) mistakes.push(`${row.name}: expected a port from 0 to 65535`);
  } else if (!(number >= least && number <= COUNT_MAX)) {
    mistakes.push(`${row.name}: expected a whole number from ${least} to ${COUNT_MAX}`);
  }
  return number;
}

/** What a setting of the type `ranges` lists. */
export function rangesIn(text: string | undefined): string[] {
  return text === undefined ? [] : text.split(',').map((range) => range.trim());
}

/** Kubernetes and usual balancers need some seconds to take a gateway out; on a developer's machine nobody waits for that. */
const DRAIN_DELAY_MS = 5_000;

/** Milliseconds between SIGTERM and the end of listening. */
export function drainDelayOf({ DRAIN_DELAY_MS: given, NODE_ENV }: Settings): number {
  return given ?? (NODE_ENV === 'production' ? DRAIN_DELAY_MS : 0);
}

/** One machine, one person: the banner may show a key, and a local chain may be started. */
export function isDevelopment(settings: Settings): boolean {
  const loopback =
    settings.HOST === 'localhost' || settings.HOST === '::1' || /^127(\.\d{1,3}){3}$/.test(settings.HOST);
  return loopback && settings.REDIS_URL === undefined && settings.NODE_ENV !== 'production';
}
