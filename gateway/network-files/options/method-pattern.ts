import type { OptionSchema, ValueSchema } from './option.ts';

/** A method's name, or the start of names before an asterisk: `debug_*`, `debug_trace*`. */
const PATTERN = '^[a-z][a-zA-Z0-9_.]*\\*?$';
const TITLE = 'method, or start of methods with * after it';

export const methodNames = { title: TITLE, pattern: PATTERN } as const satisfies ValueSchema;

/** A map by method or wildcard. */
export function byMethod<const Member extends ValueSchema>(title: string, member: Member) {
  return { title, type: 'object', propertyNames: methodNames, additionalProperties: member } as const;
}

/** A map of values for all methods, which may have maps of the same values by method beside them. */
export function forMethods<const Rows extends Readonly<Record<string, OptionSchema>>>(properties: Rows) {
  const names = Object.keys(properties);
  const title = `map with ${names.slice(0, -1).join(', ')} or ${names.at(-1) ?? ''}`;
  const entry = { title, type: 'object', minProperties: 1, properties } as const;
  return {
    title: `${title}, or with maps of these by method`,
    type: 'object',
    propertyNames: methodNames,
    properties,
    // The names of methods and wildcards; others are names of values, or misspelt.
    patternProperties: { '[_.*]': entry },
  } as const;
}

/** The values of `forMethods` by method or wildcard: those for all methods are of `*`. */
export function entriesByMethod<Entry extends object>(
  values: Readonly<Record<string, unknown>>,
): Record<string, Entry> {
  const members = Object.entries(values);
  const isOfMethod = ([name]: [string, unknown]): boolean => /[_.*]/.test(name);
  const all = members.filter((member) => !isOfMethod(member));
  const entries = Object.fromEntries(members.filter(isOfMethod)) as Record<string, Entry>;
  return all.length === 0 ? entries : { '*': Object.fromEntries(all) as Entry, ...entries };
}

export function isWildcard(name: string): boolean {
  return name.endsWith('*');
}

/** Whether a pattern covers a method. A wildcard in place of the method is covered if all of its methods are. */
export function coversMethod(pattern: string, method: string): boolean {
  return pattern === method || (isWildcard(pattern) && method.startsWith(pattern.slice(0, -1)));
}

/** The method's own name, or else the longest wildcard that covers it; undefined: none does. */
export function bestPattern(patterns: readonly string[], method: string): string | undefined {
  if (patterns.includes(method)) return method;
  let best: string | undefined;
  for (const one of patterns)
    if (coversMethod(one, method) && (best === undefined || one.length > best.length)) best = one;
  return best;
}

/** The part of a method's name before the first underscore or dot: `eth` of `eth_call`, `rpc` of `rpc.discover`. */
export function namespaceOf(method: string): string {
  return /^[^_.]*/.exec(method)?.[0] ?? '';
}
