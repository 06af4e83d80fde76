import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../config/log.ts';
import type { Diagnostic } from '../network-files/diagnostics.ts';
import { findFolder, formatDiagnostic } from '../network-files/load-networks.ts';
import type { NetworkConfig } from '../network-files/network-config.ts';
import { coversMethod, namespaceOf } from '../network-files/options/method-pattern.ts';
import { networkOptions } from '../network-files/options/network-options.ts';
import { MAX_FILE_BYTES, parseYaml, type ParsedYaml } from '../network-files/parse-yaml.ts';
import { changesNode } from '../spec/method-facts.ts';

/** Methods logged for one version of a network file. More would let callers fill the log. */
const MAX_LOGGED = 50;
const METHOD_NAME = /^[a-z][a-zA-Z0-9_.]{1,60}$/;

export interface UnservedOptions {
  readonly folder: string;
  /** Methods that development networks serve; undefined in production. */
  readonly developmentMethods: readonly string[] | undefined;
  readonly log: Log;
}

/** Shows operators how to open the methods that a network does not serve. Callers get the standard message only. */
export class UnservedMethods {
  readonly #config: Pick<NetworkConfig, 'slug' | 'development'>;
  readonly #options: UnservedOptions;
  readonly #logged = new Set<string>();
  #parsed: { readonly version: string; readonly file: ParsedYaml | undefined } | undefined;

  constructor(config: Pick<NetworkConfig, 'slug' | 'development'>, options: UnservedOptions) {
    this.#config = config;
    this.#options = options;
  }

  /** Logs a method at its first call. */
  record(method: string): void {
    if (this.#logged.size >= MAX_LOGGED || this.#logged.has(method) || !METHOD_NAME.test(method)) return;
    this.#logged.add(method);
    this.#options.log.info(
      { method, hint: this.hintFor(method) },
      'a method was called that the network does not serve',
    );
  }

  /** @returns the position in the network file, and what to write there */
  hintFor(method: string): string {
    const { slug, development } = this.#config;
    const { folder, developmentMethods = [] } = this.#options;
    // Nodes of production networks have traces too.
    const isForDevelopment =
      !development && changesNode(method) && developmentMethods.some((entry) => coversMethod(entry, method));
    const name = `${slug}.yaml`;
    const file = this.#parse(join(findFolder(folder), name));
    const { methods } = (file?.value ?? {}) as { readonly methods?: unknown };
    const diagnostic = isForDevelopment
      ? { path: ['development'], message: 'development: true would open it' }
      : changeOf(Array.isArray(methods) ? methods.map(String) : undefined, method);
    return formatDiagnostic({ file: join(folder, name), ...(file?.locate(diagnostic) ?? diagnostic) });
  }

  /** Parses the file as it is now, because the operator will edit it. Once for each change, whatever callers send. */
  #parse(path: string): ParsedYaml | undefined {
    const stat = statSync(path, { throwIfNoEntry: false });
    const version = [stat?.ino, stat?.size, stat?.mtimeMs].join();
    if (this.#parsed?.version !== version) this.#parsed = { version, file: parseFile(path) };
    return this.#parsed.file;
  }
}

/** The change of `methods` that opens a method. @param entries undefined: the file has the default */
function changeOf(entries: readonly string[] | undefined, method: string): Diagnostic {
  if (entries === undefined) {
    const list = [...networkOptions.methods.default, method].join(', ');
    return { path: ['methods'], message: `add methods: [${list}]` };
  }
  const removes = (entry: string): boolean =>
    entry.startsWith('-') && [method, namespaceOf(method)].some((name) => coversMethod(entry.slice(1), name));
  const at = entries.findIndex(removes);
  return at === -1
    ? { path: ['methods'], message: `add ${method} to methods` }
    : { path: ['methods', at], message: `remove ${entries[at] ?? ''} from methods` };
}

/** Parsed file; undefined: it cannot be read, is too large or is not YAML. */
function parseFile(path: string): ParsedYaml | undefined {
  try {
    return statSync(path).size > MAX_FILE_BYTES ? undefined : parseYaml(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}
