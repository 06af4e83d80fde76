import { suggest } from '../config/suggest.ts';
import type { Diagnostic } from './diagnostics/diagnostic.ts';
import { namespaceOf } from './namespace-of.ts';
import { coversMethod } from './options/method-pattern.ts';

/** @param names of `public.methods`  @param served methods and wildcards of the network */
export function checkPublicMethods(names: readonly string[] = [], served: readonly string[]): Diagnostic[] {
  const namespaces = [...new Set(served.map(namespaceOf))];
  return names.flatMap((name, index) => {
    // Another value has a diagnostic of the schema.
    if (name === '' || namespaces.includes(name) || served.some((one) => coversMethod(one, name))) return [];
    const message = `public.methods[${index}]: ${name} is no method or namespace of the network${suggest(name, [...namespaces, ...served])}`;
    return [{ path: ['public', 'methods', index], message }];
  });
}
