import type { OptionSchema } from './option.ts';

const hedgeTitle = 'off, or whole number of milliseconds, 1 to 60000';

/** When a slow read is hedged. */
export const hedge = {
  title: hedgeTitle,
  description:
    'Minimum delay in ms before a slow read is hedged, or off. A read is hedged after this delay and after the 95th percentile of its method; the first response is used.',
  if: { type: 'integer' },
  then: { title: hedgeTitle, type: 'integer', minimum: 1, maximum: 60_000 },
  else: { title: hedgeTitle, const: 'off' },
  default: 50,
} as const satisfies OptionSchema;
