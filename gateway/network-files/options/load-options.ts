import type { OptionSchema } from './option.ts';

/** How calls are divided among upstreams of equal priority. */
export const balance = {
  title: 'first, latency, round-robin or weighted',
  description:
    'How calls are divided among upstreams of equal priority. first: the first of the file, until another is clearly faster; latency: the faster, the more; round-robin: equally; weighted: by `weight`. Of several whose turn it is, the one with the fewest requests in flight gets the call.',
  enum: ['first', 'latency', 'round-robin', 'weighted'],
  default: 'first',
} as const satisfies OptionSchema;

/** The share of one upstream. */
export const weight = {
  title: 'whole number from 1 to 1000',
  description: 'Its share of the calls among upstreams of equal priority, with `balance: weighted`.',
  type: 'integer',
  minimum: 1,
  maximum: 1000,
  default: 1,
} as const satisfies OptionSchema;

const batchTitle = 'auto, true or false';

/** Whether calls are sent to an upstream in JSON-RPC batches. */
export const batch = {
  title: batchTitle,
  description:
    'Whether simultaneous lookups of one key are sent as one JSON-RPC batch of up to 100 calls, for up to 40 % less CPU under load. After a refusal none are sent for 10 minutes (auto) or for 60 s (true). Only with url.',
  if: { type: 'boolean' },
  then: { title: batchTitle, type: 'boolean' },
  else: { title: batchTitle, const: 'auto' },
  default: false,
} as const satisfies OptionSchema;
