import type { OptionSchema } from './option.ts';

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
