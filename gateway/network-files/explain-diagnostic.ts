import type { ErrorObject } from 'ajv/dist/2020.js';
import { formatPath, type Diagnostic } from './diagnostic.ts';
import { suggest } from '../config/suggest.ts';

/** Turns what Ajv says of a network file into sentences, without what it says twice. */
export function explainErrors(errors: readonly ErrorObject[]): Diagnostic[] {
  const unique = new Map<string, Diagnostic>();
  for (const error of errors) {
    if (!isInformative(error)) continue;
    const diagnostic = explain(error);
    // A number may be no whole number and too small at once: both end in the same sentence.
    unique.set(diagnostic.message, diagnostic);
  }
  return [...unique.values()];
}

/** Ajv tells a failed `oneOf`, with all that it is made of, a failed property name and a wrong type twice. */
function isInformative(error: ErrorObject): boolean {
  if (error.schemaPath.includes('/oneOf/')) return false;
  if (error.keyword === 'oneOf' && (typeof error.data !== 'object' || error.data === null)) return false;
  return error.keyword !== 'propertyNames';
}

/** A stray name, one without a value, is not shown: `{ url: https://a/,key }` makes such a one of a secret. */
function explain(error: ErrorObject): Diagnostic {
  const path = pathOf(error.instancePath);
  const parent = error.parentSchema as { title?: string; type?: string; properties?: Record<string, unknown> };
  const expected = `expected ${parent.title ?? 'another value'}`;
  if (error.keyword === 'additionalProperties') {
    const name = (error.params as { additionalProperty: string }).additionalProperty;
    const near = suggest(name, Object.keys(parent.properties ?? {}));
    const hint = near === '' && name.includes(':') ? '; is a space missing after a colon?' : near;
    const isStray = near === '' && (error.data as Record<string, unknown>)[name] === null;
    const shown = formatPath([...path, isStray ? '' : name]);
    return { path: [...path, name], isAtName: true, message: `${shown} is not known${hint}` };
  }
  if (error.keyword === 'required') {
    const name = (error.params as { missingProperty: string }).missingProperty;
    const property = (parent.properties?.[name] ?? {}) as { title?: string };
    const what = property.title === undefined ? '' : `: expected ${property.title}`;
    return { path, message: `${formatPath([...path, name])} is missing${what}` };
  }
  if (error.keyword === 'oneOf')
    return { path, message: `${formatPath(path)}: expected url, websocketUrl or both, or else spawn` };
  if (error.keyword === 'uniqueItems') {
    const { i, j } = error.params as { i: number; j: number };
    const last = [...path, Math.max(i, j)];
    return { path: last, message: `${formatPath(last)} is the same as ${formatPath([...path, Math.min(i, j)])}` };
  }
  if (error.propertyName !== undefined) {
    const named = [...path, error.propertyName];
    return { path: named, isAtName: true, message: `${formatPath(named)}: ${expected}` };
  }
  const isStray = error.data === null && error.schemaPath.includes('/additionalProperties/');
  const shown = formatPath(isStray ? [...path.slice(0, -1), ''] : path);
  return { path, message: `${shown}: ${expected}${error.keyword === 'type' ? describeActual(error) : ''}` };
}

/** What stands there instead: its kind, never the value. */
function describeActual({ data, params }: ErrorObject): string {
  if (data === null) return '; nothing is there';
  if (Array.isArray(data)) return ', not a list';
  if (typeof data === 'number') return (params as { type: string }).type === 'integer' ? '' : ', not a number';
  const kinds: Readonly<Record<string, string>> = { object: 'a map', string: 'text', boolean: 'true or false' };
  return `, not ${kinds[typeof data] ?? typeof data}`;
}

/** Ajv's JSON pointer as a path. */
function pathOf(pointer: string): (string | number)[] {
  const parts = pointer.split('/').slice(1);
  return parts.map((part) => (/^\d+$/.test(part) ? Number(part) : part.replaceAll('~1', '/').replaceAll('~0', '~')));
}
