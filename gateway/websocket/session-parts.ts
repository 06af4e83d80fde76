import type { Log } from '../config/log.ts';
import type { BatchLimits } from '../handle-body.ts';
import type { CallContext } from '../handle-call.ts';
import type { Caller } from '../keys/entry-rules.ts';
import type { KeyAccess } from '../keys/key-access.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Load } from '../load.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { noteOf } from '../request-note.ts';
import type { ServedNetwork } from '../served-network.ts';
import type { SocketSubscriptions } from '../subscriptions/socket-subscriptions.ts';
import type { Cancellation } from '../upstream/cancellation.ts';
import type { CallTracing } from '../upstream/trace-calls.ts';

export interface SessionParts {
  readonly network: ServedNetwork;
  readonly caller: Caller;
  /** With what the key opens by now: its rules may change while the socket is open. */
  readonly holder: { readonly access: KeyAccess; readonly open: { subscriptions: number } };
  readonly limiter: Limiter;
  readonly requestId: string;
  /** Time for a message, all its calls together. */
  readonly callTimeoutMs: number;
  readonly load: Load;
  readonly batch: BatchLimits;
  /** Messages under way at once. */
  readonly messagesMax: number;
  readonly unreadMaxBytes: number;
  readonly subscriptionsPerKey: number;
  readonly metrics: Metrics;
  readonly tracing: CallTracing | undefined;
  readonly log: Log;
  /** Undefined: messages are not logged. */
  readonly accessLog: Log | undefined;
}

/** For the calls of one message. Subscriptions know by it which message they were opened by. */
export function contextOf(
  { holder, limiter, requestId, callTimeoutMs, tracing: watch, log, accessLog }: SessionParts,
  network: ServedNetwork,
  subscriptions: SocketSubscriptions,
  caller: Cancellation,
): CallContext {
  const { access } = holder;
  const note = noteOf(accessLog, requestId);
  note?.networkIs(network.config.slug);
  note?.keyIs(access.record.id);
  const deadline = performance.now() + callTimeoutMs;
  return { network, access, limiter, requestId, deadline, caller, watch, log, note, subscriptions };
}
