import type { OptionSchema } from './option.ts';

const upstreamName = {
  title: 'name of an upstream',
  type: 'string',
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$',
} as const;

const TRANSACTIONS_TITLE = 'first, all, or a list of names of upstreams';

/** How the transactions of callers are sent. */
export const transactions = {
  title: TRANSACTIONS_TITLE,
  description:
    'Which upstreams get a transaction. first: one, and the next only after a failure that says nothing about the transaction. all, or the named ones: at once, and none gets it again; the first acceptance is the response. See below.',
  if: { type: 'array' },
  then: { title: TRANSACTIONS_TITLE, type: 'array', minItems: 1, uniqueItems: true, items: upstreamName },
  else: { title: TRANSACTIONS_TITLE, enum: ['first', 'all'] },
  default: 'first',
} as const satisfies OptionSchema;

/** Where private transactions are sent. */
export const privateTransactions = {
  title: 'map with upstreams, which may have fallbackAfterMs beside it',
  description: 'Relays for the transactions of keys with the capability `private`. See below.',
  type: 'object',
  properties: {
    upstreams: {
      title: 'list of names of upstreams',
      description:
        'The only upstreams that get transactions of these keys, all at once. They get those of other keys only if `route` or `transactions` names them.',
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: upstreamName,
      isRequired: true,
    },
    fallbackAfterMs: {
      title: 'whole number of milliseconds, 1 to 600000',
      description:
        'If no relay has responded about a private transaction after this time, in ms, the other upstreams get it, which reveals it; not while a relay waits for a receipt. It must be at least 100 ms below CALL_TIMEOUT_MS, else the file is rejected. Default: never.',
      type: 'integer',
      minimum: 1,
      maximum: 600_000,
    },
  },
} as const satisfies OptionSchema;
