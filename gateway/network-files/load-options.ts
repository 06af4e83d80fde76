import type { CountsOf } from './check-units.ts';

/** Options for loading the network files. */
export interface LoadOptions {
  /** Folder of network files. */
  readonly folder: string;
  /** Names of all methods of the spec. */
  readonly knownMethods: readonly string[];
  /** What development networks serve beside the methods of their files; undefined in production. */
  readonly developmentMethods?: readonly string[] | undefined;
  /** What formulas of request units may count in the parameters of a method. */
  readonly countsOf?: CountsOf;
  /** Values of `${NAME}` in URLs and headers. */
  readonly env: Readonly<Record<string, string | undefined>>;
}
