import { join } from 'node:path';
import { checkPublic } from '../auth/permissions/public-permissions.ts';
import { readAuth, type AuthConfig } from '../auth/tokens/read-auth.ts';
import { unknownNetworks } from '../auth/unknown-names.ts';
import type { Settings } from '../config/settings.ts';
import {
  AUTH,
  type FileDiagnostic,
  findFolder,
  isNetwork,
  loadNetworks,
  NetworkFilesError,
  readFolder,
} from '../network-files/load-networks.ts';
import type { Configuration, NetworkConfig } from '../network-files/network-config.ts';
import { isStronger, verifyOptions } from '../network-files/options/verify-option.ts';
import { readUnits } from '../network-files/read-units.ts';
import { describeGroups, groupsNote } from '../network-files/upstream-group.ts';
import { isPlain, methodsByUpstreams, type MethodRow } from '../routing-policy/methods-by-upstreams.ts';
import { developmentMethodsIn, methodFacts } from '../spec/method-facts.ts';
import { lookupUnits, rateWarnings, type UnitsTable } from '../spec/request-units.ts';
import { columns, printableInLine } from './columns.ts';

type CheckedSettings = Pick<Settings, 'NETWORKS_DIR'> & Partial<Pick<Settings, 'UNITS_FILE' | 'CALL_TIMEOUT_MS'>>;

/** Result of `gatehouse check`. */
export interface CheckReport {
  readonly ok: boolean;
  /** One line per file, or one per diagnostic; JSON is a single line. */
  readonly text: string;
}

/**
 * Validates all files of NETWORKS_DIR, and the file of UNITS_FILE, as `gatehouse start` does. Sends nothing to upstreams.
 * @param running active configuration of a running gateway
 */
export function checkNetworks(
  settings: CheckedSettings,
  env: Readonly<Record<string, string | undefined>>,
  asJson: boolean,
  running?: Configuration,
): CheckReport {
  const activeLine = running === undefined ? '' : describeActive(running, readFolder(settings.NETWORKS_DIR).digest);
  try {
    const files = checkedFiles(settings, env);
    const lines = [...files.shared.map(formatShared), ...files.networks.map(formatNetwork)];
    return { ok: true, text: asJson ? jsonLine(files, [], running) : lines.join('') + activeLine };
  } catch (error) {
    if (!(error instanceof NetworkFilesError)) throw error;
    // No networks: one diagnostic stops `gatehouse start`.
    return {
      ok: false,
      text: asJson
        ? jsonLine({ networks: [], shared: [] }, error.diagnostics, running)
        : `${error.message}\n${activeLine}`,
    };
  }
}

/**
 * Loads the network files of a folder.
 * @param callTimeoutMs the time of a call; undefined: times of the files are not compared with it
 * @throws NetworkFilesError
 */
export function readNetworks(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
  callTimeoutMs?: number,
): NetworkConfig[] {
  const developmentMethods = developmentMethodsIn({ NODE_ENV: env['NODE_ENV'] });
  return loadNetworks({ folder, ...methodFacts, checkPublic, developmentMethods, callTimeoutMs, env });
}

/** Formats the networks of a folder for `gatehouse networks list`. Has no URLs of upstreams. */
export function listNetworks(networks: readonly NetworkConfig[], asJson: boolean): string {
  const all = networks.map(({ slug, name, chainId, baseUrls, upstreams }) => {
    return { slug, name, chainId, baseUrls, upstreams: upstreams.map((upstream) => upstream.name) };
  });
  if (asJson) return `${JSON.stringify(all)}\n`;
  const rows = all.map(({ slug, name, chainId, upstreams }) => [slug, String(chainId), name, upstreams.join(', ')]);
  return columns([['SLUG', 'CHAIN', 'NAME', 'UPSTREAMS'], ...rows]);
}

type CheckedFiles = ReturnType<typeof checkedFiles>;

/**
 * The networks, and auth.yaml and defaults.yaml. Without URLs: the report may be in a build log. Notes are about what is valid,
 * and probably not intended.
 */
function checkedFiles(
  { NETWORKS_DIR: folder, UNITS_FILE: unitsFile, CALL_TIMEOUT_MS: callTimeoutMs }: CheckedSettings,
  env: Readonly<Record<string, string | undefined>>,
) {
  const found: FileDiagnostic[] = [];
  const networks = collect(found, () => readNetworks(folder, env, callTimeoutMs));
  const unitsTable = collect(found, () => readUnits(unitsFile, networks, methodFacts)) ?? {};
  const content = readFolder(folder);
  const auth = collect(found, () => readAuth(content));
  if (networks === undefined || found.length > 0) throw new NetworkFilesError(found);
  const slugs = networks.map(({ slug }) => slug);
  const shared = content.files.filter(({ slug }) => !isNetwork(slug));
  return {
    networks: networks.map((network) => ({
      file: join(findFolder(folder), `${network.slug}.yaml`),
      slug: network.slug,
      name: network.name,
      chainId: network.chainId,
      upstreams: network.upstreams.length,
      groups: describeGroups(network.upstreams),
      // Without those of wildcards.
      methods: network.methods.length,
      table: methodsByUpstreams(network, methodFacts),
      notes: [groupsNote(network) ?? [], verifyNotes(network), publicNotes(network, unitsTable)].flat(),
    })),
    shared: shared.map(({ file, slug }) => ({
      file,
      ...(slug === AUTH
        ? aboutAuth(auth, lookupUnits([unitsTable]), slugs)
        : { about: 'options of all networks', notes: [] }),
    })),
  };
}

function aboutAuth(auth: AuthConfig | undefined, lookup: number, slugs: readonly string[]) {
  const plans = auth?.plans ?? {};
  const names = Object.keys(plans);
  const ofTokens = auth?.issuer === undefined ? 'tokens beside keys' : `tokens of ${auth.issuer.issuer}`;
  return {
    about: `${ofTokens}, ${names.length === 0 ? 'no plans' : `plans ${names.join(', ')}`}`,
    notes: Object.entries(plans).flatMap(([name, plan]) =>
      [...rateWarnings(plan['rate'], lookup), ...unknownNetworks(plan, slugs)].map(
        (warning) => `plans.${name}: ${warning}`,
      ),
    ),
  };
}

function verifyNotes({ verify, upstreams }: NetworkConfig): string[] {
  const { levels, agree } = verifyOptions(verify);
  const all = Object.values(levels);
  const isVerified = all.some((level) => isStronger(level, 'observe'));
  const isAlone = upstreams.length === 1;
  const notes: string[] = [];
  if (isAlone && (isVerified || Object.keys(agree).length > 0))
    notes.push('verify: with one upstream, a wrong result is not proven, and never disproved');
  const unpolled = upstreams.filter(({ probe }) => probe === 'off').map(({ name }) => name);
  if (!isAlone && isVerified && unpolled.length > 0)
    notes.push(
      `verify: while it gets no calls, an upstream with probe: off has no known block: ${unpolled.join(', ')}`,
    );
  if (!all.includes('observe')) return notes;
  if (isAlone) notes.push('verify: with one upstream, observe checks only the hashes of headers');
  else if (upstreams.every(({ audit, probe }) => audit === 'off' || probe === 'off'))
    notes.push('verify: every upstream has audit: off or probe: off, so observe compares no results');
  return notes;
}

function publicNotes({ public: options, units }: NetworkConfig, unitsTable: UnitsTable): string[] {
  if (options === undefined) return [];
  const { rate, daily, total } = options;
  return [
    ...rateWarnings(rate, lookupUnits([units, unitsTable])).map((warning) => `public: ${warning}`),
    ...(rate === undefined && daily === undefined
      ? ['public: without rate and daily, an address without a key has no limit on its calls']
      : []),
    ...(total.rate === undefined && total.daily === undefined && total.monthly === undefined
      ? ['public: without a rate or quota in total, callers without a key may use all that upstreams allow']
      : []),
  ];
}

/** Makes a line for the operator. @param digest of the checked files */
function describeActive({ digest: active, loadedAt, refused: rejected }: Configuration, digest: string): string {
  if (active === digest) return `these files are active in the running gateway, loaded ${loadedAt}\n`;
  const others = `other files are active in the running gateway, loaded ${loadedAt}`;
  if (rejected === null) return `${others}\n`;
  return `${others}; it rejected ${rejected.digest === digest ? 'these' : 'different files'} ${rejected.at}\n`;
}

/** Adds the diagnostics of what cannot be read to the others. */
function collect<Value>(found: FileDiagnostic[], read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof NetworkFilesError)) throw error;
    found.push(...error.diagnostics);
    return undefined;
  }
}

function formatNetwork(network: CheckedFiles['networks'][number]): string {
  const { file, name, chainId, upstreams, groups, methods, table, notes } = network;
  const counts = `${formatCount(upstreams, 'upstream')}, ${formatCount(methods, 'method')}`;
  const noteLines = notes.map((note) => `  note: ${note}\n`).join('');
  const groupLine = upstreams === 1 ? '' : `  ${formatCount(groups.length, 'group')}: ${groups.join('; ')}\n`;
  return `${file}: ${printableInLine(name)}, chain ${chainId}, ${counts}\n${groupLine}${noteLines}${isPlain(table) ? '' : formatTable(table)}`;
}

function formatShared({ file, about, notes }: CheckedFiles['shared'][number]): string {
  return `${file}: ${printableInLine(about)}\n${notes.map((note) => `  note: ${note}\n`).join('')}`;
}

/** A line for each row, except for methods that the gateway serves itself. The largest row is `all others`. */
function formatTable(table: readonly MethodRow[]): string {
  const sent = table.filter(({ upstreams }) => upstreams.length > 0);
  const lines = sent.map(({ methods, upstreams, isPassThrough }, index) => {
    const isRest = index === 0 && !isPassThrough && sent.length > 1;
    const named = `${isRest ? 'all others' : methods.join(', ')}${isPassThrough ? ' (without schema)' : ''}`;
    return `  ${named}: ${upstreams.join(', ')}\n`;
  });
  return [...lines.slice(1), ...lines.slice(0, 1)].join('');
}

function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Each diagnostic has all four members. A position is null if the diagnostic is about a whole file or the folder. */
function jsonLine(
  files: CheckedFiles,
  diagnostics: readonly FileDiagnostic[],
  running: Configuration | undefined,
): string {
  const all = diagnostics.map(({ file = null, line = null, column = null, message }) => ({
    file,
    line,
    column,
    message,
  }));
  return `${JSON.stringify({ ok: diagnostics.length === 0, ...files, mistakes: all, running })}\n`;
}
