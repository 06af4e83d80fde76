import type { MethodSpec } from '../gateway/spec/method-spec.ts';
import { notNull, refTo, resolve, type JsonSchema, type Types } from './json-schema.ts';
import type { MethodSource } from './read-sources.ts';

/** Fields with contract addresses, of a call object and of a log filter. */
const fields = ['to', 'address'];

/** The first parameter that is an address, or has contract addresses in a field or as names of its members. */
export function contractPlace({ params }: MethodSource, types: Types): MethodSpec['contractAt'] {
  for (const [param, { schema }] of params.entries()) {
    if (schema.$ref === refTo('Address')) return { param };
    if (schema.$ref === refTo('StorageRequest')) return { param, keys: true };
    const { properties = {} } = resolve(schema, types);
    // The addresses of its calls are nested too deep. `blockStateCalls` is no address, so that no list of contracts allows it.
    if (schema.$ref === refTo('Simulation')) return { param, field: 'blockStateCalls' };
    const field = fields.find((name) => holdsAddress(properties[name], types));
    if (field === undefined) continue;
    const overrides = params.findIndex((other) => other.schema.$ref === refTo('StateOverride'));
    return { param, field, ...(overrides !== -1 && { overrides }) };
  }
  return undefined;
}

/** Whether a schema holds an address; true also for an address or null, and for one or several addresses. */
function holdsAddress(schema: JsonSchema | boolean | undefined, types: Types): boolean {
  if (typeof schema !== 'object') return false;
  const one = notNull(schema) ?? schema;
  if (one.$ref === refTo('Address')) return true;
  return resolve(one, types).else?.$ref === refTo('Address');
}
