import { byMethod } from './method-pattern.ts';
import { either, oneOf, whole, type OptionSchema } from './option.ts';

/** From the weakest to the strongest. */
export const verifyLevels = ['off', 'observe', 'enforce', 'require'] as const;

export type VerifyLevel = (typeof verifyLevels)[number];

const level = oneOf(...verifyLevels);
const TITLE = `${level.title}; or map of methods to these`;

/** How far results are proven before they are returned. */
export const verify = {
  ...either(TITLE, 'string', level, byMethod(TITLE, level)),
  description:
    'How far results are proven before they are returned, of all methods or by method or wildcard: `{ eth_*: enforce, eth_getLogs: require }`. enforce: what is disproved is an upstream failure; require: what cannot be proven is an error; observe: only audits, see `audit`. See docs/verify.md.',
  default: 'off',
} as const satisfies OptionSchema;

/** Upstreams of how many groups must return the same. */
export const agree = {
  ...byMethod('map of methods to whole numbers from 2 to 5', whole(2, 5)),
  description:
    'Upstreams of how many groups must return the same result, by method or wildcard, also where it is proven: `{ eth_call: 2 }`. If they differ, others decide; without agreement, the call is an error. `route` names the upstreams. See docs/verify.md.',
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

/** The share of reads that are audited. */
export const networkAudit = {
  title: 'number from 0 to 1',
  description:
    'Share of the reads from upstreams that are repeated in the background on another upstream, at the same block, and compared: 0.01 is one in a hundred, and the share of `verify: observe` without this option. Responses never change; see docs/verify.md.',
  type: 'number',
  minimum: 0,
  maximum: 1,
  default: 0,
} as const satisfies OptionSchema;

/** Whether an upstream gets requests of audits. */
export const upstreamAudit = {
  ...oneOf('on', 'off'),
  description:
    'Whether the upstream gets requests of audits. off: for an upstream that bills each request; `probe: off` includes it. Its responses to callers are audited by others all the same.',
  default: 'on',
} as const satisfies OptionSchema;

/** Whether the first level is stronger than the second. */
export function isStronger(one: VerifyLevel, other: VerifyLevel): boolean {
  return verifyLevels.indexOf(one) > verifyLevels.indexOf(other);
}
