/** State of the active configuration; contains no secrets. */
export interface Configuration {
  /** Digest of the active files: equal on gateways with equal files. */
  readonly digest: string;
  readonly loadedAt: string;
  /** Set while the current files are rejected; null while they are active. */
  readonly refused: RejectedFiles | null;
}

export interface RejectedFiles {
  readonly at: string;
  readonly digest: string;
  /** Diagnostics with their messages. These contain no values except base URLs and names of variables. */
  readonly mistakes: readonly string[];
  /** Positions only, for public pages: `base.yaml:7:5`. */
  readonly places: readonly string[];
}
