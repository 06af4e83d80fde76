import { clock } from '../../clock/clock.ts';
import type { CallContext, Network } from '../../call/call.ts';
import { openVerification } from '../../call/verification.ts';
import type { Caller } from '../../auth/permissions/entry-permissions.ts';
import type { KeyAccess } from '../../auth/key-access.ts';
import { Reservation } from '../../memory/reservation.ts';
import { openAccessLogEntry } from '../../observability/access-log.ts';
import { openDecisionLog } from '../../observability/decision-log.ts';
import { printersOf } from '../../observability/call-record.ts';
import type { OpenSubscriptions, SocketSubscriptions } from '../../subscriptions/socket-subscriptions.ts';
import type { ProcessBounds } from '../../config/process-bounds.ts';
import type { Cancellation } from '../../upstreams/transport/cancellation.ts';
import type { RequestOptions } from '../http/request-options.ts';
import type { DrainReason } from './close-codes.ts';

/** Interval for confirming keys in use and for the checks of sessions: one timer for all. */
export const TICK_MS = 250;

export interface SessionOptions extends Omit<RequestOptions, 'networks' | 'authenticator' | 'proxies'> {
  readonly network: Network;
  readonly caller: Caller;
  /** The origin of the gateway that the caller requested. */
  readonly origin: string;
  /** Header X-Gatehouse-Verify of the upgrade. */
  readonly verify: string | readonly string[] | undefined;
  /** Sessions that all sockets of the key share: its permissions, which may change while a socket is open, and open counts. */
  readonly keySessions: OpenSubscriptions & { readonly access: KeyAccess; drain(reason: DrainReason): void };
  readonly requestId: string;
  readonly bounds: ProcessBounds;
}

export type MessageContext = CallContext & { readonly reservation: Reservation };

/** Creates the context for the calls of one message, by which subscriptions identify the message that opened them. */
export function createContext(
  options: SessionOptions,
  network: Network,
  subscriptions: SocketSubscriptions,
  caller: Cancellation,
): MessageContext {
  const { limiter, requestId, tracing, log, recentCalls } = options;
  const { access } = options.keySessions;
  const logEntry = openAccessLogEntry(options.accessLog, requestId);
  logEntry?.setNetwork(network.config.slug);
  logEntry?.setKey(access.record.id);
  const recorded = recentCalls?.of({ requestId, network: network.config.slug, key: access.record });
  return {
    ...{ network, access, limiter, requestId, caller, log, logEntry, subscriptions },
    deadline: clock.now() + options.callTimeoutMs,
    printers: printersOf(tracing, logEntry, recorded, openDecisionLog(log, requestId, access.record.id)),
    reservation: new Reservation(options.memory, access.account),
    originOf: () => options.origin,
    // The permissions may have changed since the upgrade.
    verification: openVerification(network, access, access.capabilities.verify ? options.verify : undefined),
  };
}
