import { join } from 'node:path';
import type { Configuration } from '../network-files/configuration.ts';
import {
  findFolder,
  loadNetworks,
  NetworkFilesError,
  readFolder,
  type FileDiagnostic,
} from '../network-files/load-networks.ts';
import type { NetworkConfig } from '../network-files/network-config.ts';
import { describeActive } from './running-gateway.ts';
import { methods as specs } from '../spec/methods.generated.ts';

/** What `gatehouse check` found. */
export interface CheckReport {
  readonly ok: boolean;
  /** One line a network, or one a mistake; as JSON everything on one line. */
  readonly text: string;
}

/** Neither base URLs nor upstreams' URLs: the report may go into the log of a build. */
interface CheckedNetwork {
  readonly file: string;
  readonly slug: string;
  readonly name: string;
  readonly chainId: number;
  /** How many there are. */
  readonly upstreams: number;
  readonly methods: number;
}

/**
 * Reads all network files of a folder as `gatehouse start` does, and asks no upstream anything.
 * @param running what a gateway that runs has in force
 */
export function checkNetworks(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
  asJson: boolean,
  running?: Configuration,
): CheckReport {
  const also = running === undefined ? '' : describeActive(running, readFolder(folder).digest);
  try {
    const networks = checkedNetworks(folder, env);
    return { ok: true, text: asJson ? jsonLine(networks, [], running) : networks.map(writeNetwork).join('') + also };
  } catch (error) {
    if (!(error instanceof NetworkFilesError)) throw error;
    // No network would be served: one mistake keeps the gateway from starting.
    return { ok: false, text: asJson ? jsonLine([], error.diagnostics, running) : `${error.message}\n${also}` };
  }
}

/** @throws NetworkFilesError */
export function readNetworks(folder: string, env: Readonly<Record<string, string | undefined>>): NetworkConfig[] {
  const knownMethods = specs.map(({ name }) => name);
  return loadNetworks({ folder, knownMethods, env });
}

function checkedNetworks(folder: string, env: Readonly<Record<string, string | undefined>>): CheckedNetwork[] {
  return readNetworks(folder, env).map(({ slug, name, chainId, upstreams, methods }) => ({
    file: join(findFolder(folder), `${slug}.yaml`),
    slug,
    name,
    chainId,
    upstreams: upstreams.length,
    methods: methods.length,
  }));
}

function writeNetwork({ file, name, chainId, upstreams, methods }: CheckedNetwork): string {
  return `${file}: ${name}, chain ${chainId}, ${count(upstreams, 'upstream')}, ${count(methods, 'method')}\n`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** Every mistake has all four members; null where it is of a whole file, or of the folder. */
function jsonLine(
  networks: readonly CheckedNetwork[],
  diagnostics: readonly FileDiagnostic[],
  running: Configuration | undefined,
): string {
  const all = diagnostics.map(({ file = null, line = null, column = null, message }) => ({
    file,
    line,
    column,
    message,
  }));
  return `${JSON.stringify({ ok: diagnostics.length === 0, networks, mistakes: all, running })}\n`;
}
