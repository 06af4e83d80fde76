import { isObject, type JsonObject } from '../collections/is-object.ts';
import { formatPath, type Diagnostic, type Path } from './diagnostics/diagnostic.ts';
import { expandText, readFileText, type Env } from './expand/expand-text.ts';
import type { Option, OptionSchema, ValueSchema } from './options/option.ts';

type Options = Readonly<Record<string, OptionSchema & Partial<Option<string>>>>;

/**
 * Reads the values of a map with these options. Sets defaults. A value of the wrong type is replaced by the default or an
 * empty value, so that one run reports all diagnostics.
 */
export function readValues(options: Options, given: unknown): JsonObject {
  const members = isObject(given) ? given : {};
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(options)) {
    const value =
      readValue(option, members[name]) ??
      option.default ??
      (option.isRequired === undefined ? undefined : emptyValue(option));
    if (value !== undefined) values[name] = value;
  }
  return values;
}

/** @returns undefined if the value is missing or has the wrong type */
function readValue(schema: ValueSchema, given: unknown): unknown {
  const { type, items, properties, additionalProperties } = schema;
  if (schema.then !== undefined && schema.else !== undefined) {
    return readValue(typeof given === 'string' ? schema.else : schema.then, given);
  }
  const allowed: readonly unknown[] | undefined = schema.const === undefined ? schema.enum : [schema.const];
  if (allowed !== undefined) return allowed.includes(given) ? given : undefined;
  if (items !== undefined) {
    return Array.isArray(given) ? given.map((item) => readValue(items, item) ?? emptyValue(items)) : undefined;
  }
  if (type === 'object') {
    if (!isObject(given)) return undefined;
    if (properties !== undefined) return readValues(properties, given);
    return (
      additionalProperties &&
      mapMembers(given, (member) => readValue(additionalProperties, member) ?? emptyMember(additionalProperties))
    );
  }
  return typeof given === (type === 'integer' ? 'number' : type) ? given : undefined;
}

/** A number with a formula beside it is replaced by a text. */
function emptyMember({ type }: ValueSchema): unknown {
  if (type === 'object') return {};
  return type === 'array' ? [] : '';
}

function emptyValue({ type, properties }: ValueSchema): unknown {
  if (type === 'object') return readValues(properties ?? {}, {});
  if (type === 'array') return [];
  return type === 'string' ? '' : 0;
}

/** Expands variables and files with credentials, and runs the checks of the options. */
export function finishTexts(
  options: Options,
  values: JsonObject,
  path: Path,
  env: Env,
  diagnostics: Diagnostic[],
): JsonObject {
  const report = (at: Path, problem: string): void =>
    void diagnostics.push({ path: at, message: `${formatPath(at)}: ${problem}` });
  return mapMembers(values, (value, name) => {
    const { hasVariables, isFile, check, items } = options[name] ?? {};
    const { properties } = items ?? {};
    if (properties !== undefined) {
      return (value as JsonObject[]).map((item, index) =>
        finishTexts(properties, item, [...path, name, index], env, diagnostics),
      );
    }
    if (hasVariables === undefined && check === undefined) return value;
    return mapTexts(value, [...path, name], (text, at) => {
      const toReport = report.bind(undefined, at);
      const isPath = isFile === true && text.startsWith('/');
      const expand = isPath ? readFileText : expandText;
      const finished = hasVariables === true ? expand(text, env, toReport) : text;
      const problem = check?.(finished, at.at(-1) ?? '');
      if (problem !== undefined) toReport(problem);
      return finished ?? '';
    });
  });
}

function mapTexts(value: unknown, path: Path, map: (text: string, path: Path) => string): unknown {
  if (typeof value === 'string') return map(value, path);
  if (Array.isArray(value)) return value.map((item, index) => mapTexts(item, [...path, index], map));
  return mapMembers(value as JsonObject, (member, name) => mapTexts(member, [...path, name], map));
}

function mapMembers(map: JsonObject, to: (value: unknown, name: string) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, to(value, name)]));
}
