import { RpcError } from '../jsonrpc/errors.ts';
import { Account } from './account.ts';
import { Gate } from './gate.ts';
import type { SlotLeases } from './slot-lease.ts';

/** Requests in flight of a key without `--concurrency`. */
export const DEFAULT_CONCURRENCY = 256;
/** Wait of a request beyond the concurrency, before it is rejected. */
export const MAX_WAIT_MS = 1_000;

/** Account of a caller whose key is known, or who needs none. */
export class CallerAccount extends Account {
  /** Requests in flight: HTTP requests from their head on, WebSocket messages, and further calls of a batch. */
  readonly requests: Gate;

  constructor(name: string, requests: Gate, parent?: Account, payer?: Account) {
    super(name, parent, undefined, payer);
    this.requests = requests;
  }
}

/**
 * Opens the requests in flight of an account.
 * @param leases of the workers or gateways that serve the account together; undefined: this is the only one
 * @param options how many owners the requests have  @param message of rejections
 */
export function openRequests(
  name: string,
  leases: SlotLeases | undefined,
  options: { readonly hasOneOwner: true } | { readonly perOwner: number },
  message?: string,
): Gate {
  const requests: Gate = new Gate({
    ...options,
    slots: leases === undefined ? DEFAULT_CONCURRENCY : 0,
    queueMax: 2 * DEFAULT_CONCURRENCY,
    maxWaitMs: MAX_WAIT_MS,
    // One of the requests in flight may have ended when the client tries again.
    rejection: () =>
      new RpcError('too-many-requests', message, {
        allowance: { limit: requests.perOwner ?? requests.limit, remaining: 0, resetS: 1 },
      }),
  });
  requests.lease = leases?.open(name, DEFAULT_CONCURRENCY, requests);
  return requests;
}

/** Weight of an account: with four times the default concurrency it gets four times the slots of others. */
export function weightFor(concurrency: number): number {
  return Math.max(1, concurrency / DEFAULT_CONCURRENCY);
}
