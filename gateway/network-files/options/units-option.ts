import { methodNames } from './method-pattern.ts';
import type { ValueSchema } from './option.ts';
import { unitsPattern } from './units-formula.ts';

const title = 'number from 0.001, or formula such as `min(2 + blocks / 100, 100)`';

/** Request units by method: of a network, and in the file of UNITS_FILE. */
export const unitsMap = {
  title: 'map of methods to request units',
  type: 'object',
  propertyNames: methodNames,
  additionalProperties: {
    title,
    if: { type: 'number' },
    then: { title, type: 'number', minimum: 0.001, maximum: 1_000_000 },
    else: { title, type: 'string', pattern: unitsPattern },
  },
} as const satisfies ValueSchema;
