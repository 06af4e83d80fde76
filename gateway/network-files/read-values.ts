import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { isObject, type JsonObject } from '../collections/is-object.ts';
import { formatPath, type Diagnostic, type Path } from './diagnostics/diagnostic.ts';
import { explainErrors, pathOf } from './diagnostics/explain-diagnostic.ts';
import { expandText, readFileText, type Env } from './expand/expand-text.ts';
import { successors } from './options/network-options.ts';
import type { Option, OptionSchema, ValueSchema } from './options/option.ts';

type Options = Readonly<Record<string, OptionSchema & Partial<Option<string>>>>;

/**
 * Validates a network file, and sets the defaults of its schema. Values of a wrong type are removed, so that further checks
 * report all other errors in the same run.
 */
export function readValues(
  validate: ValidateFunction,
  given: unknown,
): { values: JsonObject; diagnostics: Diagnostic[] } {
  const values = isObject(given) ? structuredClone(given) : {};
  if (validate(isObject(given) ? values : given)) return { values, diagnostics: [] };
  const errors = validate.errors ?? [];
  const diagnostics = explainErrors(errors, successors);
  for (const error of errors) removeWrongValue(values, error);
  // Sets the defaults of what was removed.
  validate(values);
  return { values, diagnostics };
}

/** Removes the value of an error about its type or name. An item of a list is emptied, because paths have its index. */
function removeWrongValue(
  values: JsonObject,
  { keyword, instancePath, schemaPath, parentSchema, params }: ErrorObject,
): void {
  const path = pathOf(instancePath);
  const { additionalProperty } = params as { readonly additionalProperty?: string };
  const isWrong = keyword === 'type' || keyword === 'const' || keyword === 'enum';
  // The failed branches of a `oneOf` are reported too.
  const name = additionalProperty ?? (isWrong && !schemaPath.includes('/oneOf/') ? path.pop() : undefined);
  const parent = path.reduce<unknown>((value, part) => (value as JsonObject | undefined)?.[part], values);
  if (name === undefined || parent === undefined) return;
  if (Array.isArray(parent)) parent[Number(name)] = (parentSchema as ValueSchema).type === 'object' ? {} : '';
  else Reflect.deleteProperty(parent as object, name);
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
