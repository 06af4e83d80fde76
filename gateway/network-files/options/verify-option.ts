import { byMethod } from './method-pattern.ts';
import { either, oneOf, whole, type OptionSchema, type ValueOf } from './option.ts';

/** Levels from the weakest to the strongest. */
export const verifyLevels = ['off', 'observe', 'enforce', 'require'] as const;

export type VerifyLevel = (typeof verifyLevels)[number];

const level = oneOf(...verifyLevels);
const TITLE = `${level.title}; or map with level, agree, share or nulls`;
const LEVEL_TITLE = `${level.title}; or map of methods to these`;

/** How far results are verified. */
export const verify = {
  title: TITLE,
  description:
    'How far results are verified, see docs/consistency.md: the level of all methods (`verify: enforce`), or a map.',
  if: { type: 'string' },
  then: level,
  else: {
    title: TITLE,
    type: 'object',
    minProperties: 1,
    properties: {
      level: {
        ...either(LEVEL_TITLE, 'string', level, byMethod(LEVEL_TITLE, level)),
        description:
          'How far results are proven before they are returned, of all methods or by method or wildcard: `{ eth_*: enforce, eth_getLogs: require }`. enforce: what is disproved is an upstream failure; require: what cannot be proven is an error; observe: a share of the reads is repeated in the background on another upstream, at the same block, and compared, so that responses never change. Default: off.',
      },
      agree: {
        ...byMethod('map of methods to whole numbers from 2 to 5', whole(2, 5)),
        description:
          'Upstreams of how many groups must return the same result, by method or wildcard, also where it is proven: `{ eth_call: 2 }`. If they differ, others decide; without agreement, the call is an error. `route` names the upstreams.',
      },
      share: {
        title: 'number above 0, up to 1',
        description: 'Share of the reads that level observe compares. Default: 0.01, one in a hundred.',
        type: 'number',
        exclusiveMinimum: 0,
        maximum: 1,
      },
      nulls: {
        ...oneOf('never', 'behind', 'always'),
        description:
          'When a null is confirmed by another upstream. never; always, for lookups by hash; behind: if the upstream lags, lacks a part of the chain, or returns null for a block that was served. Default: behind.',
      },
    },
  },
  default: 'off',
} as const satisfies OptionSchema;

type GivenVerify = ValueOf<typeof verify>;

/** The option with its defaults, and levels by method or wildcard. */
export interface VerifyOptions extends Required<Omit<Exclude<GivenVerify, string>, 'level'>> {
  readonly levels: Readonly<Record<string, VerifyLevel>>;
}

export function verifyOptions(given: GivenVerify): VerifyOptions {
  const map: Exclude<GivenVerify, string> = typeof given === 'string' ? { level: given } : given;
  const { level: levels = 'off', agree = {}, share = 0.01, nulls = 'behind' } = map;
  return { levels: typeof levels === 'string' ? { '*': levels } : levels, agree, share, nulls };
}

/** The groups on whose blocks proofs rest. */
export const witnesses = {
  title: 'whole number from 1 to the number of groups',
  description:
    'How many groups of upstreams must have a block, as their head or as an ancestor of it, before a result at it is proven. Default: more than half of the groups whose upstreams no operator drained. See docs/consistency.md.',
  type: 'integer',
  minimum: 1,
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
