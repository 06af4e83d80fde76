import type { ValueSchema } from './option.ts';

/** A method's name, or the start of names before an asterisk: `debug_*`, `debug_trace*`. */
const PATTERN = '^[a-z][a-zA-Z0-9_.]*\\*?$';
const TITLE = 'method, or start of methods with * after it';

export const methodPattern = { title: TITLE, type: 'string', pattern: PATTERN } as const satisfies ValueSchema;

export const methodNames = { title: TITLE, pattern: PATTERN } as const satisfies ValueSchema;

/** A map by method or wildcard. */
export function byMethod<const Member extends ValueSchema>(title: string, member: Member) {
  return { title, type: 'object', propertyNames: methodNames, additionalProperties: member } as const;
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
