import type { Log } from '../config/log.ts';
import type { KeyAccess } from '../auth/key-access.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { AccessLogEntry } from '../observability/access-log.ts';
import type { RecordPrinter } from '../observability/call-record.ts';
import type { Reservation } from '../memory/reservation.ts';
import type { SocketSubscriptions } from '../subscriptions/socket-subscriptions.ts';
import type { Cancellation } from '../upstreams/transport/cancellation.ts';
import type { DeduplicatedCalls } from './deduplicate.ts';
import type { Network } from './network.ts';
import type { BodyVerification } from './verification.ts';

/** The caller of one body and the bounds of its calls. The key is already authenticated. */
export interface CallContext {
  readonly network: Network;
  readonly access: KeyAccess;
  readonly limiter: Limiter;
  /** Shown to the caller, and logged with internal errors. */
  readonly requestId: string;
  /** When all calls of the body must have a response, by clock.now(). */
  readonly deadline: number;
  /** Cancels the calls in progress when the caller disconnects. */
  readonly caller: Cancellation;
  /** Print the record of each call; empty for most bodies. */
  readonly printers: readonly RecordPrinter[];
  readonly log: Log;
  /** The duplicates of the batch; undefined if it has none. */
  readonly deduplicated?: DeduplicatedCalls;
  /** Bytes that remain for large results in the response to the batch. */
  readonly batchBudget?: { bytes: number; readonly maxBytes: number };
  /** A large result of a call alone may be passed on while it arrives. */
  readonly canFlow?: boolean;
  /** Subscriptions of the caller's WebSocket; undefined over HTTP. */
  readonly subscriptions?: SocketSubscriptions;
  /** Takes bytes of responses from the memory budget; undefined: they are not accounted. */
  readonly reservation?: Reservation;
  /** How far results are proven; undefined: not at all. */
  readonly verification?: BodyVerification | undefined;
  /** The origin of this gateway that the caller uses; undefined: an operator on the ops port. */
  readonly originOf?: () => string;
  /** The caller is an operator on the ops port. */
  readonly isOperator?: true;
  /** Line of the access log; undefined: it is off. */
  readonly logEntry?: AccessLogEntry | undefined;
}
