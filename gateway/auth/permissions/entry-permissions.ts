import type { IncomingHttpHeaders } from 'node:http';
import { cutText } from '../../collections/cut-text.ts';
import { RpcError, type Reason } from '../../jsonrpc/errors.ts';

/** The facts about a request that are known before its body is read. */
export interface Caller {
  /** Slug of the network. */
  readonly network: string;
  readonly address: string;
  readonly headers: Pick<IncomingHttpHeaders, 'origin' | 'user-agent' | 'authorization'>;
}

/** Longer texts of requests are cut. */
const MAX_RECEIVED_LENGTH = 200;

export interface EntryCheck {
  /** The field of the key. */
  readonly name: string;
  /** The permission as it may be shown. */
  readonly value: string;
  /** Reason of the rejection if the caller is not allowed. */
  readonly rejection: Reason;
  readonly isAllowed: (caller: Caller) => boolean;
}

/**
 * Checks the permissions of a key that need no request body. Each check must pass.
 * @param checks in the order in which they reject
 * @throws RpcError with the rejection of the first check that fails
 */
export function checkEntry(checks: readonly EntryCheck[], caller: Caller): void {
  for (const { name, value, rejection, isAllowed } of checks) {
    if (isAllowed(caller)) continue;
    const { origin } = caller.headers;
    const received = name === 'origins' && origin !== undefined ? cutText(origin, MAX_RECEIVED_LENGTH) : undefined;
    throw new RpcError(rejection, undefined, { rule: { name, value, received } });
  }
}
