import { partOf } from './settings.ts';

/** Bounds that protect the process, and that no operator needs to set. docs/security.md says what each protects. */
export const processBounds = {
  /** Unknown keys per client address in 10 s. Past it they are 429, and lookups for the address are queued. */
  unknownKeysMax: 500,
  /** Requests in progress. Past it 503. */
  requestsMax: 10_000,
  /** Calls of one network in progress at its upstreams. */
  networkConcurrency: 1_000,
  /** Calls of one network queued, up to 1 s each, for a place among those. Past it 503. */
  networkQueueMax: 1_000,
  /** Members and elements of one call, those of its parameters at all depths together. */
  callMaxValues: 20_000,
  batchResponseMaxBytes: 25_000_000,
  /** Calls of one batch in progress. */
  batchConcurrency: 50,
  /** Bytes of a response, unless the upstream has `maxResponseBytes`. */
  upstreamResponseMaxBytes: 32_000_000,
  /** Messages of one WebSocket in progress. Past it the socket is not read. */
  socketMessagesMax: 100,
  /** Unread responses of one WebSocket. Past it the socket is dropped. */
  socketUnreadMaxBytes: 32_000_000,
  /** Open WebSockets of a key without `sockets`. */
  socketsPerKey: 1_000,
  /** Open subscriptions of a key without `subscriptions`. Every 100 addresses and topics of a filter count as one more. */
  subscriptionsPerKey: 10_000,
  /** Addresses, topics and hashes of all open filters and subscriptions of a key. */
  filterValuesPerKey: 50_000,
} as const;

export type ProcessBounds = { readonly [Name in keyof typeof processBounds]: number };

/** Bounds of the whole machine, of which each worker has a part. */
const divided = [
  'unknownKeysMax',
  'requestsMax',
  'networkConcurrency',
  'networkQueueMax',
  'filterValuesPerKey',
] as const;

export function boundsOfWorker(workers: number): ProcessBounds {
  const parts = divided.map((name) => [name, partOf(processBounds[name], workers)]);
  return { ...processBounds, ...(Object.fromEntries(parts) as Partial<ProcessBounds>) };
}
