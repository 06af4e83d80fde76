export interface LoadOptions {
  /** Folder of network files. */
  readonly folder: string;
  /** Names of all methods of the spec. */
  readonly knownMethods: readonly string[];
  /** Where `${NAME}` in URLs and headers comes from. */
  readonly env: Readonly<Record<string, string | undefined>>;
}
