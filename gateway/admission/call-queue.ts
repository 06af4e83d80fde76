import { FairQueue } from './fair-queue.ts';
import { RpcError } from '../jsonrpc/errors.ts';

/** A call that waits longer is rejected, because the calls before it make no progress either. */
const MAX_WAIT_MS = 1_000;

export interface CallQueueOptions {
  /** Maximum number of calls in flight. */
  readonly concurrency: number;
  /** Maximum number of waiting calls. */
  readonly queueMax: number;
  /** Called with 1 when a call begins to wait, and with -1 when it stops waiting. */
  readonly onQueued: (change: 1 | -1) => void;
}

/**
 * Limits the calls in flight of one network, and queues a few more, fairly over their keys. Upstreams that do not respond
 * then delay the calls of their own network only.
 */
export function openCallQueue({ concurrency, queueMax, onQueued }: CallQueueOptions): FairQueue {
  return new FairQueue({ slots: concurrency, queueMax, onQueued, maxWaitMs: MAX_WAIT_MS, rejection: overloaded });
}

function overloaded(): RpcError {
  return new RpcError('overloaded', 'too many calls in flight on this network');
}
