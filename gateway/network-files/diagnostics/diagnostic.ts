/** Path of a value in a file: `['upstreams', 0, 'name']`. */
export type Path = readonly (string | number)[];

/** An error at a path of a file. The message never contains a value, because values may be secret. */
export interface Diagnostic {
  readonly path: Path;
  readonly message: string;
  /** The error is in the member's name, not in its value. */
  readonly isAtName?: boolean;
  /** A diagnostic in defaults.yaml that is an error only if it is one for all networks with the option from there. */
  readonly isOfAll?: true;
}

/** `upstreams[0].name`; `the file` for the empty path. An empty name hides the name. */
export function formatPath(path: Path): string {
  if (path.length === 0) return 'the file';
  return path
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`;
      return index === 0 ? formatName(part) : `.${formatName(part)}`;
    })
    .join('');
}

/** Hides names that are no identifiers: with a missing space after a colon, a URL with its key becomes a name. */
function formatName(name: string): string {
  return /^(<<|[\w.$*-]{1,40})$/.test(name) ? name : '(name not shown)';
}
