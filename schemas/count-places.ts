import type { CountName } from '../gateway/network-files/options/units-option.ts';
import { counters } from '../gateway/spec/count-params.ts';
import type { CountPlace } from '../gateway/spec/method-spec.ts';
import { typeOfRef } from './json-schema.ts';
import type { MethodSource } from './read-sources.ts';

/** The parameters in which something is counted, by their types. */
export function countPlaces({ params, 'x-gatehouse': notes }: MethodSource): CountPlace[] {
  const places = params.flatMap(({ schema }, param) => {
    const type = typeOfRef(schema.$ref ?? '');
    return Object.keys(counters[type] ?? {}).map((name) => ({ name: name as CountName, type, param }));
  });
  // A polled filter collects new blocks. When it requests logs of a range, that request is counted.
  return notes?.answer === 'filters' ? places.filter(({ name }) => name !== 'blocks') : places;
}
