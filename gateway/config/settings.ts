import { logLevels } from './log-level.ts';
import { adminTokensOf } from './admin-tokens.ts';
import { parseSetting, type SettingRow } from './parse-setting.ts';

/** Every setting of the gateway, by its environment variable. docs/reference/settings.md is generated from this table. */
const table = {
  HOST: { type: 'string', default: '127.0.0.1', meaning: 'Address to listen on' },
  PORT: { type: 'port', default: 8545, meaning: 'Port for calls; 0 selects a free port' },
  WORKERS: {
    type: 'count',
    default: undefined,
    meaning:
      'Processes that serve calls on PORT; unset: in production one per whole core of the CPU quota, and at most one per 256 MiB of memory, else 1',
  },
  OPS_PORT: {
    type: 'port',
    default: undefined,
    meaning: 'Port for /metrics, /livez, /readyz and the admin API; unset: the first three are served on PORT',
  },
  OPS_HOST: {
    type: 'string',
    default: undefined,
    meaning:
      'Address to listen on for OPS_PORT; unset: HOST, because Prometheus and probes are often on other machines',
  },
  ADMIN_TOKEN: {
    type: 'token',
    default: undefined,
    isSecret: true,
    meaning: 'Bearer token of the admin API on OPS_PORT, at least 16 characters; unset: the admin API is off',
  },
  ADMIN_TOKENS: {
    type: 'tokens',
    default: undefined,
    isSecret: true,
    meaning: 'More admin tokens: `name:role:token`, separated by commas; roles: `read`, `keys` or `all`; unset: none',
  },
  STATUS_PAGE: {
    type: ['public', 'ops', 'off'],
    default: 'public',
    meaning: 'Status page: `public` serves it at the root and at each base URL, `ops` on OPS_PORT only, `off` nowhere',
  },
  REDIS_URL: {
    type: 'string',
    default: undefined,
    isSecret: true,
    meaning: 'Redis for keys, limits, usage, drains and history; unset: files in DATA_DIR, limits in memory',
  },
  NETWORKS_DIR: {
    type: 'string',
    default: 'networks',
    meaning: 'Folder of network files; outside production, the folder in the package if there is no `networks`',
  },
  UNITS_FILE: {
    type: 'string',
    default: undefined,
    meaning: 'File of request units by method, for all networks; `infura`: the credits that Infura publishes',
  },
  DATA_DIR: {
    type: 'string',
    default: '.gatehouse',
    meaning: 'Folder for keys, usage, drains, history, the audit log and the demo’s notes',
  },
  LOG_LEVEL: {
    type: logLevels,
    default: 'info',
    meaning: 'Minimum level of log lines; the admin API changes it until the next start',
  },
  ACCESS_LOG: {
    type: ['off', 'on'],
    default: 'off',
    meaning:
      '`on`: one info line per request with id, network, key id, method or batch size, upstream, cache, attempts, outcome, limit and duration',
  },
  RECENT_CALLS_PARAMS: {
    type: ['hashed', 'off', 'shown'],
    default: 'hashed',
    meaning:
      'Parameters of the calls that the admin API lists: `hashed` with a key of this process, `shown` or `off`; those of transactions never',
  },
  EVENTS_WEBHOOK_URL: {
    type: 'url',
    default: undefined,
    isSecret: true,
    meaning: 'URL to which events are sent by POST, as JSON, at their begin and their end; unset: they are not sent',
  },
  EVENTS_WEBHOOK_SECRET: {
    type: 'token',
    default: undefined,
    isSecret: true,
    meaning:
      'Key of the signatures (HMAC-SHA256, standardwebhooks.com) of requests to EVENTS_WEBHOOK_URL: base64 after `whsec_`, or a text; unset: none',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    type: 'url',
    default: undefined,
    isSecret: true,
    meaning: 'URL of a collector, to which spans of calls are exported (`/v1/traces`); unset: they are not',
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    type: 'url',
    default: undefined,
    isSecret: true,
    meaning: 'The same as a complete URL, with its path',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    type: 'string',
    default: undefined,
    isSecret: true,
    meaning: 'Headers of exports: `name=value`, separated by commas',
  },
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: {
    type: 'string',
    default: undefined,
    isSecret: true,
    meaning: 'More headers of exports, which replace those of the same name',
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: { type: ['http/protobuf'], default: 'http/protobuf', meaning: 'Protocol of exports' },
  OTEL_TRACES_SAMPLER: {
    type: [
      ...['always_on', 'always_off', 'traceidratio'],
      ...['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'],
    ],
    default: 'parentbased_always_on',
    meaning: 'Traces that are exported; `parentbased_`: those that the trace of the client decides itself',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    type: 'ratio',
    default: undefined,
    meaning: 'Part of the traces that the ratio samplers export, from 0 to 1',
  },
  OTEL_SDK_DISABLED: { type: ['false', 'true'], default: 'false', meaning: '`true`: spans are not exported' },
  NODE_ENV: { type: 'string', default: undefined, meaning: '`production`: no development key, no local chain' },
  KEY_STALE_MAX_S: {
    type: 'count',
    default: 3600,
    meaning: 'Seconds for which a key checked before stays valid while Redis is unavailable',
  },
  KEY_HEADERS: {
    type: ['off', 'on'],
    default: 'off',
    meaning: '`on`: keys are also accepted in the headers `X-API-Key` and `Authorization: Bearer`',
  },
  TRUSTED_PROXIES: {
    type: 'ranges',
    default: undefined,
    meaning: 'Proxies whose X-Forwarded-For, -Host and -Proto headers are used, as `10.0.0.0/8,::1`; unset: none',
  },
  QUOTAS_WITHOUT_REDIS: {
    type: ['open', 'closed'],
    default: 'open',
    meaning: 'Keys with a daily or monthly quota while Redis is unavailable: `open` serves them, `closed` returns 503',
  },
  LIMITS_TIMEOUT_MS: { type: 'count', default: 100, meaning: 'Maximum wait for Redis; then limits continue in memory' },
  METRICS_PER_KEY: {
    type: ['off', 'on'],
    default: 'off',
    meaning: '`on`: /metrics has calls, request units, errors, bytes and used quota per key id',
  },
  CACHE_MAX_BYTES: {
    type: 'amount',
    default: 67_108_864,
    isDivided: true,
    meaning: 'Memory for the response cache; 0 turns it off',
  },
  CACHE_REDIS_URL: {
    type: 'string',
    default: undefined,
    isSecret: true,
    meaning:
      'Redis in which gateways share cached responses about final blocks, another than REDIS_URL; unset: each has a file',
  },
  CACHE_DISK_MAX_BYTES: {
    type: 'amount',
    default: 1_000_000_000,
    meaning: 'Maximum of `cache.db` in DATA_DIR, which has responses about final blocks over restarts; 0 turns it off',
  },
  BODY_MAX_BYTES: {
    type: 'count',
    default: 5_000_000,
    meaning: 'Maximum request body, also after gunzip, and WebSocket message',
  },
  CONNECTIONS_MAX: {
    type: 'count',
    default: 5_000,
    isDivided: true,
    meaning: 'Maximum open HTTP connections on a port; past it, the oldest without a request in progress is closed',
  },
  BODIES_MAX_BYTES: {
    type: 'count',
    default: 128_000_000,
    isDivided: true,
    meaning: 'Memory budget for all bytes buffered for callers and upstreams; past it 503',
  },
  MEMORY_LIMIT_MB: {
    type: 'count',
    default: undefined,
    isDivided: true,
    meaning:
      'Memory that the gateway may use, in MiB: above 70 % requests without a key and of the heaviest keys get 503, above 85 % all new ones; unset: the limit of its container, else the memory of the machine',
  },
  COMPRESS_ANSWERS_OVER_BYTES: {
    type: 'count',
    default: undefined,
    meaning: 'Responses above this size are gzipped for clients that accept it; unset: none',
  },
  BATCH_MAX_ITEMS: { type: 'count', default: 1000, meaning: 'Maximum calls in a batch' },
  REQUEST_TIMEOUT_MS: { type: 'count', default: 30_000, meaning: 'Time for a request to arrive completely' },
  CALL_TIMEOUT_MS: {
    type: 'count',
    default: 15_000,
    meaning: 'Time for one call or one whole batch, including all attempts',
  },
  UPSTREAM_TIMEOUT_MS: {
    type: 'count',
    default: undefined,
    meaning:
      'Time for one attempt at one upstream, unless a network file has one; unset: 5 s for lookups, 10 s for execution and lists, 60 s for traces',
  },
  UPSTREAM_CONNECTIONS: {
    type: 'count',
    default: 256,
    isDivided: true,
    meaning: 'Maximum connections to one upstream, and calls in progress there',
  },
  DRAIN_DELAY_MS: {
    type: 'amount',
    default: undefined,
    meaning: 'After SIGTERM, time to accept calls while /readyz returns 503; unset: 5000 in production, else 0',
  },
  DRAIN_TIMEOUT_MS: { type: 'count', default: 10_000, meaning: 'Time for calls in progress to finish at shutdown' },
} as const satisfies Record<string, SettingRow>;

type Env = Readonly<Record<string, string | undefined>>;
type Table = typeof table;
type SettingValue<R extends SettingRow> = R['type'] extends 'port' | 'count' | 'amount' | 'ratio' ? number : string;
export type Settings = {
  readonly [Name in keyof Table]: Table[Name]['default'] extends undefined
    ? SettingValue<Table[Name]> | undefined
    : SettingValue<Table[Name]>;
};

const inAuth = (members: string): string => `write ${members} in auth.yaml, in the folder of network files`;

const fixed = 'remove it: docs/security.md has the fixed bound';
const fixedNames = [
  ...['BATCH_ANSWER_MAX_BYTES', 'BATCH_CONCURRENCY', 'CALL_MAX_VALUES', 'FILTER_VALUES_PER_KEY'],
  ...['NETWORK_QUEUE_MAX', 'UNKNOWN_KEYS_MAX', 'WS_MESSAGES_MAX', 'WS_UNREAD_MAX_BYTES'],
];

/** What replaces the settings of former versions. */
const formerSettings: Readonly<Record<string, string>> = {
  ...Object.fromEntries(fixedNames.map((name) => [name, fixed])),
  AUTH_ALGORITHMS: inAuth('algorithms: […]'),
  AUTH_AUDIENCE: inAuth('audience: …'),
  AUTH_CLAIM: inAuth('claim: …'),
  AUTH_CLOCK_TOLERANCE_S: inAuth('clockToleranceS: …'),
  AUTH_ISSUER: inAuth('issuer: …'),
  AUTH_JWKS_FILE: inAuth('keySet: …'),
  AUTH_JWKS_URL: inAuth('keySet: …'),
  AUTH_PLANS_FILE: inAuth('plans: …, defaultPlan: … and ceiling: …'),
  AUTH_TOKENS_IN_PATH: inAuth('tokensInPath: true'),
  KEY_TOKEN_AUDIENCE: inAuth('keyTokenAudience: …'),
  NETWORK_CONCURRENCY: `${fixed}; limits of an upstream are in network files`,
  REQUESTS_MAX: `${fixed}; keys have --concurrency`,
  UPSTREAM_RESPONSE_MAX_BYTES: 'write maxResponseBytes: … at the upstream in its network file',
  WS_MESSAGE_MAX_BYTES: 'BODY_MAX_BYTES bounds WebSocket messages too',
  WS_SOCKETS_PER_KEY: 'keys have --sockets, by default 1000',
  WS_SUBSCRIPTIONS_PER_KEY: 'keys have --subscriptions, by default 10000',
};

export const settingRows = Object.entries(table).map(([name, row]: [string, SettingRow]) => ({ name, ...row }));

/** The settings of one of several workers: bounds of the whole machine are divided among them. */
export function shareOf(settings: Settings, workers: number): Settings {
  const shares = settingRows
    .filter(({ name, isDivided }) => isDivided === true && settings[name as keyof Settings] !== undefined)
    .map(({ name }) => [name, partOf(Number(settings[name as keyof Settings]), workers)]);
  return { ...settings, ...(Object.fromEntries(shares) as Partial<Settings>) };
}

/** 0 turns off. */
export function partOf(bound: number, workers: number): number {
  return bound === 0 ? 0 : Math.max(1, Math.floor(bound / workers));
}

/** Settings with credentials of the gateway itself. Network files cannot use them: they would be sent to an upstream. */
export const secretSettings = new Set(settingRows.filter(({ isSecret }) => isSecret).map(({ name }) => name));

/** Whether spans are exported. Otherwise variables of OpenTelemetry are not read: they may be for other programs. */
function exportsSpans(env: Env): boolean {
  const {
    OTEL_EXPORTER_OTLP_ENDPOINT: all,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ofTraces,
    OTEL_SDK_DISABLED = '',
  } = env;
  return ((all ?? '') !== '' || (ofTraces ?? '') !== '') && OTEL_SDK_DISABLED.toLowerCase() !== 'true';
}

/**
 * Reads the settings from an environment. An empty value counts as unset.
 * @throws SettingsError with all errors at once
 */
export function readSettings(env: Env): Settings {
  const problems: string[] = [];
  const settings: Record<string, string | number | undefined> = {};
  for (const row of settingRows) {
    const given = row.name === 'OTEL_SDK_DISABLED' ? env[row.name]?.toLowerCase() : env[row.name];
    const isUnused = row.name.startsWith('OTEL_') && !exportsSpans(env);
    settings[row.name] =
      given === undefined || given === '' || isUnused ? row.default : parseSetting(row, given, problems);
  }
  for (const [name, successor] of Object.entries(formerSettings)) {
    if ((env[name] ?? '') !== '') problems.push(`${name} is no setting any more: ${successor}`);
  }
  for (const name of ['ADMIN_TOKEN', 'ADMIN_TOKENS']) {
    if (settings[name] === undefined || settings['OPS_PORT'] !== undefined) continue;
    problems.push(`${name}: the admin API is on OPS_PORT only, which is not set`);
  }
  const { ADMIN_TOKEN, ADMIN_TOKENS } = settings as Settings;
  const named = adminTokensOf({ ADMIN_TOKEN: undefined, ADMIN_TOKENS });
  if (named.some(({ value }) => value === ADMIN_TOKEN)) {
    problems.push('ADMIN_TOKENS: an item has the value of ADMIN_TOKEN, which has the role all');
  }
  if (settings['STATUS_PAGE'] === 'ops' && settings['OPS_PORT'] === undefined) {
    problems.push('STATUS_PAGE: ops requires OPS_PORT, which is not set');
  }
  if (settings['CACHE_REDIS_URL'] !== undefined && settings['CACHE_REDIS_URL'] === settings['REDIS_URL']) {
    problems.push('CACHE_REDIS_URL: expected another Redis than REDIS_URL: cached responses would push out keys');
  }
  if (settings['CACHE_REDIS_URL'] !== undefined && settings['CACHE_MAX_BYTES'] === 0) {
    problems.push('CACHE_REDIS_URL: requires the cache in memory, which CACHE_MAX_BYTES=0 turns off');
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return settings as Settings;
}

/** Invalid settings: one line per error, shown to the operator as it is. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';

  constructor(problems: string[]) {
    super(problems.join('\n'));
  }
}

/** Default in production: Kubernetes and load balancers need some seconds to stop sending requests to a gateway. */
const DRAIN_DELAY_MS = 5_000;

/** Milliseconds from SIGTERM until the gateway stops listening. */
export function drainDelayOf({ DRAIN_DELAY_MS: given, NODE_ENV }: Settings): number {
  return given ?? (NODE_ENV === 'production' ? DRAIN_DELAY_MS : 0);
}

/** Whether the gateway serves one developer on one machine. The banner may then show a key, and local chains may start. */
export function isDevelopment(settings: Settings): boolean {
  const isLoopback =
    settings.HOST === 'localhost' || settings.HOST === '::1' || /^127(\.\d{1,3}){3}$/.test(settings.HOST);
  return isLoopback && settings.REDIS_URL === undefined && settings.NODE_ENV !== 'production';
}
