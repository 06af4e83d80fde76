import { methodNames } from './method-pattern.ts';
import type { OptionSchema } from './option.ts';

/** From the weakest to the strongest. */
export const verifyLevels = ['off', 'observe', 'enforce', 'require'] as const;

export type VerifyLevel = (typeof verifyLevels)[number];

const TITLE = 'off, observe, enforce or require; or map of methods to these';

const level = { title: 'off, observe, enforce or require', type: 'string', enum: verifyLevels } as const;

/** How far results are proven before they are returned. */
export const verify = {
  title: TITLE,
  description:
    'How far results are proven before they are returned, of all methods or by method or wildcard: `{ eth_*: enforce, eth_getLogs: require }`. enforce: what is disproved is an upstream failure; require: what cannot be proven is an error; observe: only audits, see `audit`. See docs/verify.md.',
  if: { type: 'string' },
  then: level,
  else: { title: TITLE, type: 'object', propertyNames: methodNames, additionalProperties: level },
  default: 'off',
} as const satisfies OptionSchema;

/** How many upstreams must return the same. */
export const agree = {
  title: 'map of methods to whole numbers from 2 to 5',
  description:
    'How many upstreams must return the same result, by method or wildcard, where nothing proves it: `{ eth_call: 2 }`. If they differ, others decide; without agreement, the call is an error. `route` names the upstreams. See docs/verify.md.',
  type: 'object',
  propertyNames: methodNames,
  additionalProperties: { title: 'whole number from 2 to 5', type: 'integer', minimum: 2, maximum: 5 },
  default: {},
} as const satisfies OptionSchema;

/** Whether the first level is stronger than the second. */
export function isStronger(one: VerifyLevel, other: VerifyLevel): boolean {
  return verifyLevels.indexOf(one) > verifyLevels.indexOf(other);
}
