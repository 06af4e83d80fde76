import { aboveZero, whole, type OptionSchema } from './option.ts';
import { publicFields, totalFields } from './public-fields.generated.ts';

const boundRows = {
  maxBlockRange: { ...whole(1), description: 'Maximum blocks in the range of a log filter.' },
  maxAddresses: { ...whole(1), description: 'Maximum addresses of a log filter.' },
  maxStorageKeys: { ...whole(1), description: 'Maximum storage keys of `eth_getProof`.' },
  maxSimulatedCalls: { ...whole(1), description: 'Maximum calls of `eth_simulateV1`.' },
  maxResponseBytes: { ...whole(1), description: 'Maximum bytes of the response to a call.' },
} as const satisfies Readonly<Record<string, OptionSchema>>;

/** The names of fields that a key has too. */
function listOfKey(fields: object): string {
  const names = Object.keys(fields).map((name) => `\`${name}\``);
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;
}

/** Bounds of what one call may request. */
export const bounds = {
  title: `map with ${Object.keys(boundRows).slice(0, -1).join(', ')} or maxResponseBytes`,
  description:
    'Bounds of a call of any caller: `maxBlockRange`, `maxAddresses`, `maxStorageKeys` and `maxSimulatedCalls`, see docs/keys.md, and `maxResponseBytes`. A call beyond one is rejected with -32005, which names the bound.',
  type: 'object',
  properties: { ...boundRows, maxResponseBytes: { ...boundRows.maxResponseBytes, default: 25_000_000 } },
  default: {},
} as const satisfies OptionSchema;

/** Calls without a key. The fields of a key are generated from the table of permissions. */
export const publicCallers = {
  title: 'map of permissions and limits',
  description: `Calls without a key are served, with permissions and limits of each client address. Without it they are 401. See docs/keys.md#calls-without-a-key. Fields of a key, see docs/keys.md: ${listOfKey(publicFields)}.`,
  type: 'object',
  properties: {
    ...publicFields,
    methods: {
      ...publicFields.methods,
      description:
        'Public methods: names, or namespaces such as `eth`. Default: all but those of debug, trace, txpool and ots, and filters, which a namespace does not open either.',
    },
    concurrency: {
      ...publicFields.concurrency,
      description: 'Maximum requests in flight, per gateway; others wait for up to 1 s.',
      default: 16,
    },
    bounds: {
      title: bounds.title,
      description: 'Bounds of calls without a key, as those of the network. The lower one holds.',
      type: 'object',
      properties: boundRows,
      membersAs: 'bounds',
    },
    perSender: {
      title: 'map with rate, which may have burst beside it',
      description: 'Limit of methods that send a transaction, by its sender, whatever the address.',
      type: 'object',
      dependentRequired: { burst: ['rate'] },
      properties: {
        rate: { ...aboveZero, description: 'Transactions per second.', isRequired: true },
        burst: { ...whole(1), description: 'Transactions at once; default: those of one second.' },
      },
    },
    ipv4Prefix: {
      ...whole(8, 32),
      description: 'Bits of an IPv4 address that share one limit.',
      default: 32,
    },
    ipv6Prefix: {
      ...whole(16, 64),
      description: 'Bits of an IPv6 address that share one limit. Each /48 has the limits of 16 of them.',
      default: 64,
    },
    total: {
      title: 'map of limits',
      description: `Limits of all callers without a key together. Fields of a key, see docs/keys.md: ${listOfKey(totalFields)}.`,
      type: 'object',
      default: {},
      properties: {
        ...totalFields,
        concurrency: {
          ...totalFields.concurrency,
          description:
            'Maximum requests in flight, per gateway. They have the slots at upstreams of one key, of more above 256.',
          default: 256,
        },
      },
    },
  },
} as const satisfies OptionSchema;
