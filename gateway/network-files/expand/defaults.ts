import { isObject, type JsonObject } from '../../collections/is-object.ts';
import { basename } from 'node:path';
import { compileFileSchema } from '../options/network-schema.ts';
import type { Diagnostic, Path } from '../diagnostics/diagnostic.ts';
import { explainErrors } from '../diagnostics/explain-diagnostic.ts';
import { parseYaml, type Located } from '../diagnostics/parse-yaml.ts';
import { networkOptions, successors } from '../options/network-options.ts';
import { defaultsSchema, identifying } from '../options/network-schema.ts';

/** Name of the file, without `.yaml`, with the options that networks share. It is no network. */
export const DEFAULTS = 'defaults';

/** The options of defaults.yaml. */
export interface Defaults {
  readonly members: JsonObject;
  readonly locate: (diagnostic: Diagnostic) => Located;
}

/** The members of a network file together with those of defaults.yaml, and where each is. */
export interface Merged {
  readonly value: unknown;
  readonly locate: (diagnostic: Diagnostic) => Located;
}

/** @param yaml text of defaults.yaml  @returns diagnostics of what does not depend on a network */
export function readDefaults(yaml: string): { readonly defaults?: Defaults; readonly diagnostics: readonly Located[] } {
  const { value, diagnostics, locate } = parseYaml(yaml);
  if (diagnostics.length > 0) return { diagnostics };
  const given = isObject(value) ? value : {};
  const own = Object.keys(given).filter((name) => identifying.has(name));
  const shared = value === null ? {} : isObject(value) ? withoutMembers(value, identifying) : value;
  const validate = compileFileSchema(defaultsSchema());
  const found = validate(shared) ? [] : explainErrors(validate.errors ?? [], successors);
  const misplaced = own.map((name): Diagnostic => ({ path: [name], isAtName: true, message: misplacedText(name) }));
  const members = Object.fromEntries(Object.entries(given).filter(([name]) => isShared(name)));
  return { defaults: { members, locate }, diagnostics: [...misplaced, ...found].map(locate) };
}

/** An option of the network file replaces that of defaults.yaml as a whole. */
export function mergeDefaults(own: Merged, defaults: Defaults | undefined): Merged {
  const { value } = own;
  if (defaults === undefined || !isObject(value)) return own;
  const isFromDefaults = ([name]: Path): boolean =>
    name !== undefined && !Object.hasOwn(value, name) && Object.hasOwn(defaults.members, name);
  return {
    value: { ...defaults.members, ...value },
    locate: (diagnostic) => {
      const { path, isOfAll } = diagnostic;
      if (!isFromDefaults(path)) return own.locate(diagnostic);
      return { ...defaults.locate(diagnostic), isInDefaults: true, ...(isOfAll && { ofAllWith: String(path[0]) }) };
    },
  };
}

/**
 * Reports each diagnostic in defaults.yaml once, with the files of the networks that it is about.
 * @param reported what `readDefaults` found
 */
export function joinShared(
  found: readonly {
    readonly file: string;
    readonly diagnostics: readonly Located[];
    /** Whether the network has this option from defaults.yaml, or whether that is not known. */
    readonly inherits: (option: string) => boolean;
  }[],
  reported: readonly Located[],
): Located[] {
  const positionOf = ({ line, column, message }: Located): string => `${line}:${column} ${message}`;
  const known = new Set(reported.map(positionOf));
  const joined = new Map<string, { diagnostic: Located; files: string[] }>();
  for (const { file, diagnostics } of found) {
    for (const diagnostic of diagnostics) {
      const position = positionOf(diagnostic);
      if (diagnostic.isInDefaults !== true || known.has(position)) continue;
      const { files } = joined.get(position) ?? { files: [] };
      joined.set(position, { diagnostic, files: [...files, basename(file)] });
    }
  }
  const reportable = [...joined.values()].filter(
    ({ diagnostic: { ofAllWith }, files }) =>
      ofAllWith === undefined || files.length === found.filter(({ inherits }) => inherits(ofAllWith)).length,
  );
  return reportable.map(({ diagnostic, files: [first = '', ...others] }) => {
    const more = others.length === 0 ? '' : ` and ${others.length} more`;
    return { ...diagnostic, message: `${diagnostic.message} (for ${first}${more})` };
  });
}

function isShared(name: string): boolean {
  return Object.hasOwn(networkOptions, name) && !identifying.has(name);
}

function misplacedText(name: string): string {
  return `${name} identifies one network: write it in the file of the network`;
}

function withoutMembers(members: JsonObject, names: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.has(name)));
}
