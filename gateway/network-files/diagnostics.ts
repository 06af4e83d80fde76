import type { ErrorObject } from 'ajv/dist/2020.js';
import { suggest } from '../config/suggest.ts';

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

/**
 * Converts Ajv's errors about a network file into diagnostics without duplicates.
 * @param successors of former names, by path without indices
 */
export function explainErrors(
  errors: readonly ErrorObject[],
  successors: ReadonlyMap<string, string> = new Map(),
): Diagnostic[] {
  const unique = new Map<string, Diagnostic>();
  for (const error of errors) {
    if (!isInformative(error)) continue;
    const diagnostic = explain(error, successors);
    // Two errors at one value, such as a fraction below the minimum, have the same message.
    unique.set(diagnostic.message, diagnostic);
  }
  return [...unique.values()];
}

/** Ajv reports a failed `oneOf` with all its branches, and a failed property name and a wrong type twice. */
function isInformative(error: ErrorObject): boolean {
  if (error.schemaPath.includes('/oneOf/')) return false;
  if (error.keyword === 'oneOf' && (typeof error.data !== 'object' || error.data === null)) return false;
  // A failed `if` is reported with the errors of `then` or `else`.
  return error.keyword !== 'propertyNames' && error.keyword !== 'if';
}

/** Names without a value are not shown: in `{ url: https://a/,key }`, YAML reads the secret as such a name. */
function explain(error: ErrorObject, successors: ReadonlyMap<string, string>): Diagnostic {
  const path = pathOf(error.instancePath);
  const parent = error.parentSchema as { title?: string; type?: string; properties?: Record<string, unknown> };
  const expected = `expected ${parent.title ?? 'another value'}`;
  if (error.keyword === 'additionalProperties') {
    const name = (error.params as { additionalProperty: string }).additionalProperty;
    const successor = successors.get([...path.filter((part) => typeof part === 'string'), name].join('.'));
    const near = successor === undefined ? suggest(name, Object.keys(parent.properties ?? {})) : `: ${successor}`;
    const isLevel = path.join('.') === 'verify' && /[_*]/.test(name);
    const colon = near === '' && name.includes(':') ? '; is a space missing after a colon?' : near;
    const hint = isLevel ? '; levels by method are in verify.level' : colon;
    const isStray = near === '' && (error.data as Record<string, unknown>)[name] === null;
    const shown = formatPath([...path, isStray ? '' : name]);
    return { path: [...path, name], isAtName: true, message: `${shown} is not known${hint}` };
  }
  if (error.keyword === 'required' || error.keyword === 'dependentRequired') {
    const name = (error.params as { missingProperty: string }).missingProperty;
    const property = (parent.properties?.[name] ?? {}) as { title?: string };
    const expectation = property.title === undefined ? '' : `: expected ${property.title}`;
    return { path, message: `${formatPath([...path, name])} is missing${expectation}` };
  }
  if (error.keyword === 'oneOf') {
    const titles = (error.schema as readonly { title: string }[]).map(({ title }) => title);
    return { path, message: `${formatPath(path)}: expected ${titles.join(', or else ')}` };
  }
  if (error.keyword === 'enum' && typeof error.data === 'string') {
    const near = suggest(error.data, error.schema as readonly string[]);
    return { path, message: `${formatPath(path)}: ${expected}${near}` };
  }
  if (error.keyword === 'uniqueItems') {
    const { i, j } = error.params as { i: number; j: number };
    const last = [...path, Math.max(i, j)];
    return { path: last, message: `${formatPath(last)} is the same as ${formatPath([...path, Math.min(i, j)])}` };
  }
  if (error.propertyName !== undefined) {
    const member = [...path, error.propertyName];
    return { path: member, isAtName: true, message: `${formatPath(member)}: ${expected}` };
  }
  const isStray = error.data === null && error.schemaPath.includes('/additionalProperties/');
  const shown = formatPath(isStray ? [...path.slice(0, -1), ''] : path);
  return { path, message: `${shown}: ${expected}${error.keyword === 'type' ? describeActual(error) : ''}` };
}

/** The type of the actual value, never the value itself. */
function describeActual({ data, params }: ErrorObject): string {
  if (data === null) return '; the value is missing';
  if (Array.isArray(data)) return ', not a list';
  if (typeof data === 'number') return (params as { type: string }).type === 'integer' ? '' : ', not a number';
  const kinds: Readonly<Record<string, string>> = { object: 'a map', string: 'text', boolean: 'true or false' };
  return `, not ${kinds[typeof data] ?? typeof data}`;
}

/** Converts Ajv's JSON pointer to a path. */
export function pathOf(pointer: string): (string | number)[] {
  const parts = pointer.split('/').slice(1);
  return parts.map((part) => (/^\d+$/.test(part) ? Number(part) : part.replaceAll('~1', '/').replaceAll('~0', '~')));
}
