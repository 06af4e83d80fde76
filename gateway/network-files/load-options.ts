import type { Diagnostic } from './diagnostics/diagnostic.ts';
import type { PublicOptions } from './network-config.ts';
import type { CountName } from './options/units-option.ts';
import type { MethodFacts } from './select-methods.ts';

/** Options for loading the network files. */
export interface LoadOptions extends MethodFacts {
  /** Folder of network files. */
  readonly folder: string;
  /** Methods that development networks serve beside the methods of their files; undefined in production. */
  readonly developmentMethods?: readonly string[] | undefined;
  /** Counts that formulas of request units may have of the parameters of a method. Undefined: all. */
  readonly countsOf?: ((method: string) => readonly CountName[]) | undefined;
  /** Whether calls of the method are sent to upstreams. Undefined: not known, so it is not checked that one gets them. */
  readonly needsUpstream?: ((method: string) => boolean) | undefined;
  /** Whether a call of the method sends a transaction. */
  readonly sendsTransactions?: ((method: string) => boolean) | undefined;
  /** The method that polls heads: at least one upstream must permit it. */
  readonly headMethod?: string | undefined;
  /** The time of a call, with which times of network files are compared. Undefined: they are not compared. */
  readonly callTimeoutMs?: number | undefined;
  /** Checks `public` beyond its schema. Undefined: it is not checked. */
  readonly checkPublic?: ((options: PublicOptions) => readonly Diagnostic[]) | undefined;
  /** Values of `${NAME}` in URLs and headers. */
  readonly env: Readonly<Record<string, string | undefined>>;
}
