import type { OptionSchema } from './option.ts';

/** The limits of a provider's plan, for one upstream. */
export const upstreamLimits = {
  title: 'map with perSecond, which may have burst beside it, or concurrency',
  description:
    "Limits of the provider's plan. At its limit an upstream is skipped; the gateway's own requests, such as head polls, count too.",
  type: 'object',
  minProperties: 1,
  dependentRequired: { burst: ['perSecond'] },
  properties: {
    perSecond: {
      title: 'number above 0',
      description: 'Requests per second.',
      type: 'number',
      exclusiveMinimum: 0,
    },
    burst: {
      title: 'whole number from 1',
      description: 'Requests that may be sent at once; default: those of one second.',
      type: 'integer',
      minimum: 1,
    },
    concurrency: {
      title: 'whole number from 1',
      description: 'Concurrent requests.',
      type: 'integer',
      minimum: 1,
    },
  },
} as const satisfies OptionSchema;
