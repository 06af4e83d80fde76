/** Which network files are in force; nothing secret. */
export interface Configuration {
  /** Of the files that are in force: the same on each gateway that has the same. */
  readonly digest: string;
  readonly loadedAt: string;
  /** Why the files as they are now are not in force; null where they are. */
  readonly refused: RejectedFiles | null;
}

export interface RejectedFiles {
  readonly at: string;
  readonly digest: string;
  /** With the words of each, which name no values but base URLs and variables. */
  readonly mistakes: readonly string[];
  /** The same for everybody to see: `base.yaml:7:5`. */
  readonly places: readonly string[];
}
