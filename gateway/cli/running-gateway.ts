import { Command } from 'commander';
import { durationOf } from '../auth/formats/duration.ts';
import { clock } from '../clock/clock.ts';
import { isObject } from '../collections/is-object.ts';
import { adminTokensOf } from '../config/admin-tokens.ts';
import { parseUrl } from '../config/parse-url.ts';
import { SettingsError, type Settings } from '../config/settings.ts';
import type { Configuration } from '../network-files/network-config.ts';
import type { AuditReport } from '../observability/call-record.ts';
import { rangeNames } from '../metrics/history.ts';
import { MAX_EVENTS, type GatewayEvent } from '../observability/event-list.ts';
import type { ExplainedCall } from '../observability/explanation.ts';
import type { UpstreamSummary } from '../upstreams/upstream-status.ts';
import { addressOf } from './banner.ts';
import { columns, listText, shortTime, type ListOptions } from './columns.ts';
import { examples, type CommandContext } from './command-context.ts';
import { CommandError, exitCodes } from './exit-codes.ts';

const TIMEOUT_MS = 5_000;
/** Time limit, longer than any call. */
const EXPLAIN_TIMEOUT_MS = 60_000;

/** The response of `/readyz`. */
interface Readiness {
  readonly ready: boolean;
  /** Why it is not ready. */
  readonly reason?: string;
  readonly draining: boolean;
  readonly keyStore: { readonly kind: string; readonly available: boolean };
  readonly configuration: Configuration;
  readonly networks: Readonly<Record<string, UpstreamSummary>>;
}

/** The share of the time in which an upstream worked, by network; null: unknown. */
type Uptimes = Readonly<Record<string, number | null>>;

interface Explained {
  readonly answer: unknown;
  readonly explanation: { readonly calls: readonly ExplainedCall[] };
}

/** Makes the commands that send requests to a running gateway: `gatehouse status`, `explain` and `events`. */
export function runningGatewayCommands({ settings, out, setExitCode }: CommandContext): Command[] {
  const status = new Command('status')
    .description('Show whether a running gateway is ready, and its networks and upstreams')
    .option('--url <url>', 'address of the ops port, or of PORT without one; default: that of the settings')
    .option('--uptime <range>', 'also the uptime of each network: 1h, 24h, 7d, 30d or 90d')
    .option('--json', 'print the response of /readyz on one line')
    .addHelpText(
      'after',
      examples('status', 'status --uptime 30d', 'status --json', 'status --url http://10.0.0.5:9464'),
    )
    .action(async ({ url, uptime: range, json }: { url?: string; uptime?: string; json?: true }) => {
      if (range !== undefined && !rangeNames.some((name) => name === range))
        throw new CommandError(`--uptime: expected one of ${rangeNames.join(', ')}`);
      const address = readAddress(url) ?? opsAddress(settings());
      const { body: readiness } = await request(`${address}/readyz`);
      if (!isReadiness(readiness)) throw notGateway(address);
      const uptime = range === undefined ? undefined : await readUptimes(address, readiness, range);
      const shown = uptime === undefined ? readiness : { ...readiness, uptime };
      out(json ? `${JSON.stringify(shown)}\n` : statusText(address, readiness, uptime));
      if (!readiness.ready) setExitCode(exitCodes.failed.code);
    });
  const explain = new Command('explain')
    .description('Send a call through a running gateway, and show how it got its response')
    .argument('<network>', 'slug of the network')
    .argument('<method>', 'name of the method')
    .argument('[params...]', 'parameters: JSON, or text')
    .option('--url <url>', 'address of the ops port; default: that of the settings')
    .option('--json', 'print the response and the explanation on one line')
    .addHelpText(
      'after',
      `\nADMIN_TOKEN must be set as for the gateway, or ADMIN_TOKENS with a token of the role \`all\`.\n${examples(
        'explain base eth_blockNumber',
        'explain base eth_getBalance 0x4200000000000000000000000000000000000006 latest',
      )}`,
    )
    .action(async (network: string, method: string, params: string[], options: { url?: string; json?: true }) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: params.map(readParam) });
      const path = `/admin/explain/${encodeURIComponent(network)}`;
      const result = (await requestAdmin(settings(), options.url, path, body)) as Explained;
      out(options.json ? `${JSON.stringify(result)}\n` : explainText(method, network, result));
    });
  const events = new Command('events')
    .description('List the events of a running gateway: failures with their duration, and operations of administrators')
    .option('--network <slug>', 'only those of this network')
    .option('--since <time>', 'only those that began, lasted or ended in this time: 30m, 1h, 7d')
    .option('--url <url>', 'address of the ops port; default: that of the settings')
    .option('--csv', 'print comma-separated values')
    .option('--json', 'print an array of the events on one line')
    .addHelpText(
      'after',
      `\nADMIN_TOKEN must be set as for the gateway, or ADMIN_TOKENS with a token of any role.\n${examples(
        'events --since 1h',
        'events --network base --json',
      )}`,
    )
    .action(async (options: { network?: string; since?: string; url?: string } & ListOptions) => {
      const sinceMs = options.since === undefined ? undefined : durationOf(options.since);
      if (options.since !== undefined && !sinceMs)
        throw new CommandError('--since: expected a duration such as 30m, 1h or 7d');
      const query = new URLSearchParams({
        limit: String(MAX_EVENTS),
        ...(options.network !== undefined && { network: options.network }),
      });
      const response = await requestAdmin(settings(), options.url, `/admin/events?${query.toString()}`);
      const { events: all } = response as { readonly events: GatewayEvent[] };
      const found = sinceMs === undefined ? all : eventsSince(all, clock.unixMs() - sinceMs);
      out(eventsText(found, options));
    });
  return [status, explain, events];
}

/** Fetches the active configuration from a gateway's ops port; undefined if no gateway responds. */
export async function fetchActiveConfiguration(address: string): Promise<Configuration | undefined> {
  try {
    const { configuration } = (await request(`${address}/readyz`)).body as { configuration?: Configuration };
    return typeof configuration?.digest === 'string' ? configuration : undefined;
  } catch {
    return undefined;
  }
}

/** The ops port of these settings, or PORT without one. */
function opsAddress({ HOST, PORT, OPS_HOST = HOST, OPS_PORT }: Settings): string {
  return OPS_PORT === undefined ? addressOf(reachable(HOST), PORT) : addressOf(reachable(OPS_HOST), OPS_PORT);
}

/** Replaces a wildcard address by loopback. */
export function reachable(host: string): string {
  return host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
}

/** @throws SettingsError */
function readAddress(url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  if (parseUrl(url) === undefined || !/^https?:\/\//.test(url)) {
    throw new SettingsError(['--url: expected the address of a gateway, such as http://127.0.0.1:9464']);
  }
  return url.replace(/\/+$/, '');
}

/** Sends a request to a gateway, whose responses are JSON. @throws CommandError */
async function request(
  url: string,
  init: RequestInit = {},
): Promise<{ readonly status: number; readonly body: unknown }> {
  const { origin } = new URL(url);
  let response: Response;
  try {
    response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), ...init });
  } catch {
    const problem = `no gateway responds at ${origin}: is it running, and are OPS_PORT and OPS_HOST as in its settings?`;
    throw new CommandError(problem, 'unavailable');
  }
  const body: unknown = await response.json().catch(() => {
    throw notGateway(origin);
  });
  return { status: response.status, body };
}

/**
 * Sends a request to the admin API.
 * @param url of the option; undefined: the address is that of the settings
 * @param body as JSON, of a call to explain, for which the token has the role `all`
 * @throws SettingsError without a token, CommandError if the request is rejected
 */
async function requestAdmin(active: Settings, url: string | undefined, path: string, body?: string): Promise<unknown> {
  const token = adminTokensOf(active).find(({ role }) => body === undefined || role === 'all');
  if (token === undefined) {
    const other = body === undefined ? 'one of any role' : 'one of the role all';
    throw new SettingsError([`ADMIN_TOKEN: expected the token of the gateway, or ${other} in ADMIN_TOKENS`]);
  }
  const init = {
    headers: { authorization: `Bearer ${token.value}`, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(body === undefined ? TIMEOUT_MS : EXPLAIN_TIMEOUT_MS),
    ...(body !== undefined && { method: 'POST', body }),
  };
  return successful(await request(`${readAddress(url) ?? opsAddress(active)}${path}`, init));
}

/** The uptime of each network, by slug. @throws CommandError */
async function readUptimes(address: string, { networks }: Readiness, range: string): Promise<Uptimes> {
  const uptimes: Record<string, number | null> = {};
  const slugs = Object.keys(networks);
  for (const slug of slugs) {
    const url = `${address}/${slug}/history.json?range=${encodeURIComponent(range)}`;
    const response = await request(url);
    // The network was removed meanwhile; or, if no network has a history, the address is not the one of the page.
    if (response.status === 404) continue;
    const { uptime = null } = successful(response) as { readonly uptime?: number | null };
    uptimes[slug] = uptime;
  }
  if (slugs.length > 0 && Object.keys(uptimes).length === 0)
    throw new CommandError(
      `no history at ${address}: set --url to the port with the status page (STATUS_PAGE)`,
      'unavailable',
    );
  return uptimes;
}

function notGateway(address: string): CommandError {
  const problem = `the server at ${address} is no Gatehouse, or the address is not its ops port: set --url`;
  return new CommandError(problem, 'unavailable');
}

/** @throws CommandError if the request was rejected */
function successful({ status, body }: Awaited<ReturnType<typeof request>>): unknown {
  if (status < 300) return body;
  if (status === 404)
    throw new CommandError('there is no such network, or the admin API is off: it needs OPS_PORT and ADMIN_TOKEN');
  const { error } = body as { readonly error?: { readonly message?: string } };
  throw new CommandError(`the gateway rejects the request: ${error?.message ?? `HTTP ${status}`}`);
}

function statusText(
  address: string,
  { ready, reason, draining, keyStore, configuration, networks }: Readiness,
  uptimes?: Uptimes,
): string {
  const state = draining ? 'stopping' : ready ? 'ready' : `not ready${reason === undefined ? '' : `: ${reason}`}`;
  const files =
    configuration.refused === null
      ? ''
      : `Network files: rejected ${shortTime(configuration.refused.at)}, those of ${shortTime(configuration.loadedAt)} are active\n`;
  const rows = Object.entries(networks).map(
    ([slug, { upstreams, up, unused = [], drained = [], failing, degraded = {} }]) => {
      const troubles = [
        ...(unused.length > 0 ? [`${unused.join(', ')}: not contacted yet`] : []),
        ...Object.entries({ ...failing, ...degraded }).map(([name, why]) => `${name}: ${why}`),
        ...drained.map((name) => `${name}: drained`),
      ];
      const uptime = uptimes?.[slug];
      const percent = typeof uptime === 'number' ? percentText(uptime) : '-';
      const ofRange = uptimes === undefined ? [] : [percent];
      return [slug, `${up - unused.length} of ${upstreams}`, ...ofRange, troubles.join('; ')];
    },
  );
  return (
    `Gateway at ${address}: ${state}\n` +
    `Keys: ${keyStore.kind === 'redis' ? 'in Redis' : 'in a file'}, ${keyStore.available ? 'available' : 'unavailable'}\n` +
    `${files}\n${columns([['NETWORK', 'UP', ...(uptimes === undefined ? [] : ['UPTIME']), 'TROUBLE'], ...rows])}`
  );
}

/** The share as a percentage that is rounded down: an outage is never shown as 100 %. */
function percentText(share: number): string {
  // What is smaller than the last digit of a sum of shares is no outage.
  return `${(Math.floor(share * 100_000 + 1e-6) / 1_000).toFixed(3)} %`;
}

function explainText(method: string, network: string, { answer, explanation }: Explained): string {
  const [call] = explanation.calls;
  const facts =
    call === undefined
      ? []
      : [call.outcome ?? 'no outcome', ...(call.cache === undefined ? [] : [`cache ${call.cache}`])];
  const attempts = call?.attempts ?? [];
  const longestMs = Math.max(1, ...attempts.map(({ ms = 0 }) => ms));
  const rows = [
    ...Object.entries(call?.skipped ?? {}).map(([upstream, reason]) => [upstream, 'skipped', reason]),
    ...attempts.map(({ upstream, ms, outcome = 'in progress' }) => {
      const bar = '█'.repeat(Math.max(1, Math.round(((ms ?? 0) / longestMs) * 20)));
      return [upstream, ms === undefined ? '' : `${ms} ms`, outcome, bar];
    }),
  ];
  const table = rows.length === 0 ? 'No upstream was used.\n' : columns([['UPSTREAM', 'TIME', 'OUTCOME', ''], ...rows]);
  const { verified, audit } = call ?? {};
  const checks = [
    ...(verified === undefined ? [] : [`Verification: ${verified}`]),
    ...(audit === undefined ? [] : [`Audit: ${auditText(audit)}`]),
  ].map((line) => `${line}\n`);
  return `${method} on ${network}: ${facts.join(', ')}\n\n${table}${checks.join('')}\n${JSON.stringify(answer)}\n`;
}

function auditText({ outcome, reason, answers }: AuditReport): string {
  const upstreams = answers.map(({ upstream, outcome: own }) => `${upstream} ${own}`).join(', ');
  return `${outcome}, ${reason}${upstreams === '' ? '' : ` (${upstreams})`}`;
}

/** Events that began, lasted or ended at a Unix time in milliseconds, or later. */
export function eventsSince(events: readonly GatewayEvent[], unixMs: number): GatewayEvent[] {
  return events.filter(({ at, endedAt }) => endedAt === null || Date.parse(endedAt ?? at) >= unixMs);
}

export function eventsText(events: readonly GatewayEvent[], format: ListOptions = {}): string {
  const rows = events.map(({ at, kind, network, upstream, reason, by, endedAt, forS, count }) => [
    ...[shortTime(at), kind, network, upstream],
    endedAt === undefined ? undefined : endedAt === null ? `${spanOf(forS)}, lasts` : spanOf(forS),
    ...[String(count), by === undefined ? reason : `${reason}, by ${by}`],
  ]);
  const head = ['began', 'kind', 'network', 'upstream', 'lasted', 'times', 'what'];
  return listText(format, events, head, rows, 'No events.\n');
}

/** `59s`, `12m` or `3h`. */
function spanOf(seconds: number): string {
  if (seconds < 60) return `${seconds}s`;
  return seconds < 3_600 ? `${Math.floor(seconds / 60)}m` : `${Math.floor(seconds / 3_600)}h`;
}

/** JSON, or the text itself: a shell needs no quotes around `latest` and `0x1`. */
function readParam(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function isReadiness(body: unknown): body is Readiness {
  return isObject(body) && typeof body['ready'] === 'boolean' && isObject(body['networks']);
}
