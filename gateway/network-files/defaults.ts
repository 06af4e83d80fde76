import { basename } from 'node:path';
import { isObject, type JsonObject } from '../collections/is-object.ts';
import { type Diagnostic, explainErrors, type Path } from './diagnostics.ts';
import { networkOptions, successors } from './options/network-options.ts';
import { compileFileSchema, defaultsSchema, identifying } from './options/network-schema.ts';
import { verifyLevels } from './options/verify-option.ts';
import { type Located, parseYaml } from './parse-yaml.ts';

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
  const misplaced = Object.keys(given)
    .filter((name) => identifying.has(name))
    .map((name): Diagnostic => {
      const message = `${name} identifies one network: write it in the file of the network`;
      return { path: [name], isAtName: true, message };
    });
  const shared = Object.entries(given).filter(([name]) => !identifying.has(name));
  const validate = compileFileSchema(defaultsSchema());
  const isValid = validate(value === null || isObject(value) ? Object.fromEntries(shared) : value);
  const found = isValid ? [] : explainErrors(validate.errors ?? [], successors);
  const members = Object.fromEntries(shared.filter(([name]) => Object.hasOwn(networkOptions, name)));
  return { defaults: { members, locate }, diagnostics: [...misplaced, ...found].map(locate) };
}

/** Maps are merged member by member. Another value of the network file replaces that of defaults.yaml as a whole. */
export function mergeDefaults(own: Merged, defaults: Defaults | undefined): Merged {
  if (defaults === undefined || !isObject(own.value)) return own;
  const [shared, value] = [defaults.members, own.value].map(withVerifyMap) as [JsonObject, JsonObject];
  return {
    value: mergeMaps(shared, value),
    locate: (diagnostic) => {
      const { path, isOfAll } = diagnostic;
      if (!isInherited(path, shared, value)) return own.locate(diagnostic);
      return { ...defaults.locate(diagnostic), isInDefaults: true, ...(isOfAll && { ofAllWith: path }) };
    },
  };
}

/** A level is short for a map. */
function withVerifyMap({ verify, ...others }: JsonObject): JsonObject {
  if (verify === undefined) return others;
  return { ...others, verify: verifyLevels.some((level) => level === verify) ? { level: verify } : verify };
}

function mergeMaps(shared: JsonObject, own: JsonObject): JsonObject {
  const merged = Object.entries(own).map(([name, value]): [string, unknown] => {
    const inherited = Object.hasOwn(shared, name) ? shared[name] : undefined;
    return [name, isObject(inherited) && isObject(value) ? mergeMaps(inherited, value) : value];
  });
  return { ...shared, ...Object.fromEntries(merged) };
}

/** Whether only defaults.yaml has the value at the path, or the innermost parent of it. */
function isInherited([name, ...rest]: Path, shared: JsonObject, own: JsonObject): boolean {
  if (name === undefined || !Object.hasOwn(shared, name)) return false;
  if (!Object.hasOwn(own, name)) return true;
  const [inherited, value] = [shared[name], own[name]];
  return isObject(inherited) && isObject(value) && isInherited(rest, inherited, value);
}

/**
 * Reports each diagnostic in defaults.yaml once, with the files of the networks that it is about.
 * @param reported what `readDefaults` found
 */
export function joinShared(
  found: readonly {
    readonly file: string;
    readonly diagnostics: readonly Located[];
    /** Whether the network has the value at the path from defaults.yaml, or whether that is not known. */
    readonly inherits: (path: Path) => boolean;
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
      // The suggestion for a name differs between networks. The first one is reported.
      const name = diagnostic.ofAllWith?.join('.') ?? position;
      const group = joined.get(name) ?? { diagnostic, files: [] };
      joined.set(name, { ...group, files: [...group.files, basename(file)] });
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
