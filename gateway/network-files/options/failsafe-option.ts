import { methodNames } from './method-pattern.ts';
import type { OptionSchema } from './option.ts';

const HEDGE_TITLE = 'off, or whole number of milliseconds, 1 to 60000';

const hedgeValue = {
  title: HEDGE_TITLE,
  if: { type: 'integer' },
  then: { title: HEDGE_TITLE, type: 'integer', minimum: 1, maximum: 60_000 },
  else: { title: HEDGE_TITLE, const: 'off' },
} as const;

/** When a slow read is hedged. */
export const hedge = {
  ...hedgeValue,
  description:
    'Minimum delay in ms before a slow read is hedged, or off. A read is hedged after this delay and after the 95th percentile of its method; the first response is used.',
  default: 50,
} as const satisfies OptionSchema;

const TITLE = 'map of methods to maps with timeoutMs, hedgeAfterMs or maxAttempts';

const times = {
  timeoutMs: {
    title: 'whole number of milliseconds, 1 to 600000',
    description: 'Time for one attempt, in ms.',
    type: 'integer',
    minimum: 1,
    maximum: 600_000,
  },
  hedgeAfterMs: {
    ...hedgeValue,
    description: 'Time in ms after which a read is hedged, whatever its usual time is; or off.',
  },
} as const satisfies Readonly<Record<string, OptionSchema>>;

/** Times and attempts of calls by method, at all upstreams of a network. */
export const networkFailsafe = {
  title: TITLE,
  description:
    'Time for one attempt, delay of the hedge and maximum attempts by method or wildcard: `debug_*: { timeoutMs: 60000 }`. See below.',
  type: 'object',
  propertyNames: methodNames,
  additionalProperties: {
    title: 'map with timeoutMs, hedgeAfterMs or maxAttempts',
    type: 'object',
    minProperties: 1,
    properties: {
      ...times,
      maxAttempts: {
        title: 'whole number from 1 to 100',
        description: 'Maximum requests to upstreams for one call: retries, hedges and confirmations count.',
        type: 'integer',
        minimum: 1,
        maximum: 100,
      },
    },
  },
  default: {},
} as const satisfies OptionSchema;

/** Times of calls by method, at one upstream. */
export const upstreamFailsafe = {
  title: 'map of methods to maps with timeoutMs or hedgeAfterMs',
  description: 'As `failsafe` of the network, for attempts at this upstream, without `maxAttempts`.',
  type: 'object',
  propertyNames: methodNames,
  additionalProperties: {
    title: 'map with timeoutMs or hedgeAfterMs',
    type: 'object',
    minProperties: 1,
    properties: times,
  },
} as const satisfies OptionSchema;
