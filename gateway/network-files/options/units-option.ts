import { byMethod, methodNames } from './method-pattern.ts';
import { either } from './option.ts';
import { unitsPattern } from './units-formula.ts';

const TITLE = 'number from 0.001, or formula such as `min(2 + blocks / 100, 100)`';
const value = either(
  TITLE,
  'number',
  { type: 'number', minimum: 0.001, maximum: 1_000_000 },
  { type: 'string', pattern: unitsPattern },
);

/**
 * Request units of what is no call, by its name in a map of units: a rejected request, a batch beside its calls, and notifications by
 * kind of subscription.
 */
export const otherUnits = {
  rejected: 0.1,
  batch: 0,
  newHeads: 0,
  logs: 0,
  newPendingTransactions: 0,
  transactionReceipts: 0,
  syncing: 0,
} as const;

export type OtherUnits = Readonly<Record<keyof typeof otherUnits, number>>;

/** Request units by method and by name of `otherUnits`: of a network, and in the file of UNITS_FILE. `*`: all other methods. */
export const unitsMap = {
  ...byMethod('map of methods to request units', value),
  propertyNames: { ...methodNames, pattern: `${methodNames.pattern}|^\\*$` },
} as const;
