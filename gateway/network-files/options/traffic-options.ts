import type { OptionSchema } from './option.ts';

/** How calls are divided among upstreams of equal priority. */
export const balance = {
  title: 'first, latency, round-robin or weighted',
  description:
    'How calls are divided among upstreams of equal priority. first: the first of the file, until another is clearly faster; latency: the faster, the more; round-robin: equally; `weighted`: by `weight`. Among equals, the one with the fewest requests in flight gets the call.',
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

const BATCH_TITLE = 'auto, true or false';

/** Whether calls are sent to an upstream in JSON-RPC batches. */
export const batch = {
  title: BATCH_TITLE,
  description:
    'Whether lookups that a client sent as a batch are sent as JSON-RPC batches of up to 10 calls. After a refusal, none are sent for 10 minutes (auto) or for 60 s (true); auto: for 10 s if the node works on their calls one after the other. Only with url.',
  if: { type: 'boolean' },
  then: { title: BATCH_TITLE, type: 'boolean' },
  else: { title: BATCH_TITLE, const: 'auto' },
  default: 'auto',
} as const satisfies OptionSchema;

/** Its place among the upstreams. */
export const priority = {
  title: 'whole number, 0 to 1000',
  description:
    'Upstreams with a lower priority are selected first. With equal priority the first in the file is, until another is clearly faster.',
  type: 'integer',
  minimum: 0,
  maximum: 1000,
  default: 0,
} as const satisfies OptionSchema;

/** Who runs it. */
export const group = {
  title: 'text of 1 to 40 letters, digits, spaces, dots, hyphens and underscores',
  description:
    'Who runs the upstream, such as an operator or a data centre: upstreams of one group have one vote about the chain. Default: host and port of its URL; the hosts of a hosted provider are one group. See docs/consistency.md.',
  type: 'string',
  pattern: '^[A-Za-z0-9]([A-Za-z0-9 ._-]{0,38}[A-Za-z0-9])?$',
} as const satisfies OptionSchema;

/** Whether it gets requests of the gateway itself. */
export const probe = {
  title: 'on or off',
  description:
    'Whether the upstream is polled and probed while it gets no calls. off: for an upstream that bills each request; its failures are noticed by calls only.',
  enum: ['on', 'off'],
  default: 'on',
} as const satisfies OptionSchema;

/** Time for one attempt, of all methods. */
export const timeoutMs = {
  title: 'whole number of milliseconds, 1 to 600000',
  description: 'Time for one attempt, in ms; default: see below.',
  type: 'integer',
  minimum: 1,
  maximum: 600_000,
} as const satisfies OptionSchema;

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

/** Whether an upstream gets requests of audits. */
export const upstreamAudit = {
  title: 'on or off',
  description:
    'Whether the upstream gets requests of audits. off: for an upstream that bills each request; `probe: off` includes it. Its responses to callers are audited by others all the same.',
  enum: ['on', 'off'],
  default: 'on',
} as const satisfies OptionSchema;
