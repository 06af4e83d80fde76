import { clock } from '../../clock/clock.ts';
import type { Log } from '../../config/log.ts';
import type { BatchLimits } from '../../call/handle-batch.ts';
import type { CallContext, Network } from '../../call/call.ts';
import { openVerification } from '../../call/verification.ts';
import type { Caller } from '../../auth/permissions/entry-permissions.ts';
import type { KeyAccess } from '../../auth/key-access.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { MemoryBudget } from '../../memory/memory-budget.ts';
import { Reservation } from '../../memory/reservation.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import { openAccessLogEntry } from '../../observability/access-log.ts';
import { openDecisionLog } from '../../observability/decision-log.ts';
import { printersOf } from '../../observability/call-record.ts';
import type { OpenSubscriptions, SocketSubscriptions } from '../../subscriptions/socket-subscriptions.ts';
import type { ProcessBounds } from '../../config/process-bounds.ts';
import type { Cancellation } from '../../upstreams/transport/cancellation.ts';
import type { RecentCalls } from '../../observability/recent-calls.ts';
import type { CallTracing } from '../../observability/tracing.ts';
import type { DrainReason } from './close-codes.ts';

/** Interval for confirming keys in use and for the checks of sessions: one timer for all. */
export const TICK_MS = 250;

export interface SessionOptions {
  readonly network: Network;
  readonly caller: Caller;
  /** The origin of the gateway that the caller requested. */
  readonly origin: string;
  /** Of the upgrade: X-Gatehouse-Verify. */
  readonly verify: string | readonly string[] | undefined;
  /** Shared by all sockets of the key: its permissions, which may change while a socket is open, and open counts. */
  readonly keySessions: OpenSubscriptions & { readonly access: KeyAccess; drain(reason: DrainReason): void };
  readonly limiter: Limiter;
  readonly requestId: string;
  /** Time for all calls of a message together. */
  readonly callTimeoutMs: number;
  readonly memory: MemoryBudget;
  readonly batch: BatchLimits;
  readonly bounds: ProcessBounds;
  readonly metrics: Metrics;
  readonly tracing: CallTracing | undefined;
  readonly recentCalls: RecentCalls | undefined;
  readonly log: Log;
  /** Undefined: messages are not logged. */
  readonly accessLog: Log | undefined;
}

export type MessageContext = CallContext & { readonly reservation: Reservation };

/** Creates the context for the calls of one message, by which subscriptions identify the message that opened them. */
export function createContext(
  options: SessionOptions,
  network: Network,
  subscriptions: SocketSubscriptions,
  caller: Cancellation,
): MessageContext {
  const { keySessions, limiter, requestId, callTimeoutMs, tracing, log, accessLog, memory, recentCalls } = options;
  const { access } = keySessions;
  const logEntry = openAccessLogEntry(accessLog, requestId);
  logEntry?.setNetwork(network.config.slug);
  logEntry?.setKey(access.record.id);
  const recorded = recentCalls?.of({ requestId, network: network.config.slug, key: access.record });
  const deadline = clock.now() + callTimeoutMs;
  const reservation = new Reservation(memory, access.account);
  return {
    network,
    access,
    limiter,
    requestId,
    deadline,
    caller,
    printers: printersOf(tracing, logEntry, recorded, openDecisionLog(log, requestId, access.record.id)),
    log,
    logEntry,
    subscriptions,
    reservation,
    originOf: () => options.origin,
    // The permissions may have changed since the upgrade.
    verification: openVerification(network, access, access.capabilities.verify ? options.verify : undefined),
  };
}
