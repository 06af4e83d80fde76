/** Where something stands in a file: `['upstreams', 0, 'name']`. */
export type Path = readonly (string | number)[];

/** Something wrong at a place of a file. Never repeats a value: that may be a secret. */
export interface Diagnostic {
  readonly path: Path;
  readonly message: string;
  /** The mistake is the member's name, not its value. */
  readonly isAtName?: boolean;
}

/** `upstreams[0].name`; `the file` for the empty path. An empty name is one that is not to be shown. */
export function formatPath(path: Path): string {
  if (path.length === 0) return 'the file';
  return path
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`;
      return index === 0 ? formatName(part) : `.${formatName(part)}`;
    })
    .join('');
}

/** A forgotten space after a colon makes a name of a whole URL, key and all: only what looks like a name is shown. */
function formatName(name: string): string {
  return /^(<<|[\w.$-]{1,40})$/.test(name) ? name : '(a name that is not shown)';
}
