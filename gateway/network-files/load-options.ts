/** Options for loading the network files. */
export interface LoadOptions {
  /** Folder of network files. */
  readonly folder: string;
  /** Names of all methods of the spec. */
  readonly knownMethods: readonly string[];
  /** Values of `${NAME}` in URLs and headers. */
  readonly env: Readonly<Record<string, string | undefined>>;
}
