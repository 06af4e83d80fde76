import { byMethod } from './method-pattern.ts';
import { either } from './option.ts';
import { unitsPattern } from './units-formula.ts';

const TITLE = 'number from 0.001, or formula such as `min(2 + blocks / 100, 100)`';
const value = either(
  TITLE,
  'number',
  { type: 'number', minimum: 0.001, maximum: 1_000_000 },
  { type: 'string', pattern: unitsPattern },
);

/** Request units by method: of a network, and in the file of UNITS_FILE. */
export const unitsMap = byMethod('map of methods to request units', value);
