import { methodNames } from './method-pattern.ts';
import type { ValueSchema } from './option.ts';
import { unitsPattern } from './units-formula.ts';

const TITLE = 'number from 0.001, or formula such as `min(2 + blocks / 100, 100)`';

/** Request units by method: of a network, and in the file of UNITS_FILE. */
export const unitsMap = {
  title: 'map of methods to request units',
  type: 'object',
  propertyNames: methodNames,
  additionalProperties: {
    title: TITLE,
    if: { type: 'number' },
    then: { title: TITLE, type: 'number', minimum: 0.001, maximum: 1_000_000 },
    else: { title: TITLE, type: 'string', pattern: unitsPattern },
  },
} as const satisfies ValueSchema;
