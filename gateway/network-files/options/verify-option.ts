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

/** Upstreams of how many groups must return the same. */
export const agree = {
  title: 'map of methods to whole numbers from 2 to 5',
  description:
    'Upstreams of how many groups must return the same result, by method or wildcard, also where it is proven: `{ eth_call: 2 }`. If they differ, others decide; without agreement, the call is an error. `route` names the upstreams. See docs/verify.md.',
  type: 'object',
  propertyNames: methodNames,
  additionalProperties: { title: 'whole number from 2 to 5', type: 'integer', minimum: 2, maximum: 5 },
  default: {},
} as const satisfies OptionSchema;

/** The groups on whose blocks proofs rest. */
export const witnesses = {
  title: 'whole number from 1 to the number of groups',
  description:
    'How many groups of upstreams must have a block, as their head or as an ancestor of it, before a result at it is proven. Default: more than half of the groups whose upstreams no operator drained. See docs/verify.md.',
  type: 'integer',
  minimum: 1,
} as const satisfies OptionSchema;

/** Whether the first level is stronger than the second. */
export function isStronger(one: VerifyLevel, other: VerifyLevel): boolean {
  return verifyLevels.indexOf(one) > verifyLevels.indexOf(other);
}
