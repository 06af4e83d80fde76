import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../config/log.ts';
import type { Diagnostic } from '../network-files/diagnostics/diagnostic.ts';
import { parseYaml, type Located } from '../network-files/diagnostics/parse-yaml.ts';
import { findFolder, formatDiagnostic } from '../network-files/load-networks.ts';
import type { NetworkConfig } from '../network-files/network-config.ts';
import { coversMethod } from '../network-files/options/method-pattern.ts';

/** Methods logged for one version of a network file. More would let callers fill the log. */
const MAX_LOGGED = 50;
const METHOD_NAME = /^[a-z][a-zA-Z0-9_.]{1,60}$/;

export interface UnservedOptions {
  readonly folder: string;
  /** What development networks serve; undefined in production. */
  readonly developmentMethods: readonly string[] | undefined;
  readonly log: Log;
}

/** Shows operators how to open the methods that a network does not serve. Callers get the standard message only. */
export class UnservedMethods {
  readonly #config: Pick<NetworkConfig, 'slug' | 'development'>;
  readonly #options: UnservedOptions;
  readonly #logged = new Set<string>();

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
    const isForDevelopment = !development && developmentMethods.some((entry) => coversMethod(entry, method));
    const message = isForDevelopment ? 'development: true would open it' : `add ${method} to methods`;
    const path = [isForDevelopment ? 'development' : 'methods'];
    const name = `${slug}.yaml`;
    return formatDiagnostic({
      file: join(folder, name),
      ...locateIn(join(findFolder(folder), name), { path, message }),
    });
  }
}

/** Reads the file as it is now, because the operator will edit it. */
function locateIn(file: string, diagnostic: Diagnostic): Located | Diagnostic {
  try {
    return parseYaml(readFileSync(file, 'utf8')).locate(diagnostic);
  } catch {
    return diagnostic;
  }
}
