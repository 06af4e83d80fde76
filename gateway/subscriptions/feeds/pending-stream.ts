import { isHash } from '../../chain/header.ts';
import type { Feed, PolledUpstream } from '../../chain/poller.ts';
import { clock, type Timer } from '../../clock/clock.ts';
import { nodeMethods } from '../../spec/methods.generated.ts';

/** The part of an upstream that pending transactions use. */
export type PendingSource = Pick<PolledUpstream, 'circuit' | 'isOnOtherChain' | 'fetchResult' | 'subscribe'>;

export interface StreamEvents {
  notified(hashes: readonly string[]): void;
  /** The stream ended. Called once, unless it was closed. */
  ended(): void;
}

const POLL_INTERVAL_MS = 500;
/** Maximum hashes of one poll. */
const MAX_HASHES = 10_000;

/** Streams pending transactions from one upstream: over its WebSocket, or else from a filter at the upstream that it polls. */
export async function openPendingStream(source: PendingSource, events: StreamEvents): Promise<Feed> {
  return (await openSubscription(source, events)) ?? openPolledFilter(source, events);
}

/** Opens a stream; undefined if the upstream has no WebSocket, or rejects the subscription. */
function openSubscription(source: PendingSource, events: StreamEvents): Promise<Feed | undefined> {
  return new Promise((resolve) => {
    let hasStarted = false;
    const stream = source.subscribe('["newPendingTransactions"]', {
      started: () => {
        hasStarted = true;
        resolve(stream);
      },
      notified: (hash) => {
        if (isHash(hash)) events.notified([hash]);
      },
      ended: () => {
        if (hasStarted) events.ended();
        else resolve(undefined);
      },
    });
    if (stream === undefined) resolve(undefined);
  });
}

/** @throws Error (rejects with it) if the upstream does not support filters */
async function openPolledFilter(source: PendingSource, events: StreamEvents): Promise<Feed> {
  const id = await source.fetchResult(nodeMethods.newPendingFilter, '[]');
  if (typeof id !== 'string') throw new Error('the upstream returned no filter id');
  const params = JSON.stringify([id]);
  let timer: Timer | undefined;
  let isClosed = false;
  const poll = async (): Promise<void> => {
    const hashes = await source.fetchResult(nodeMethods.filterChanges, params).catch(() => undefined);
    if (isClosed) return;
    if (!Array.isArray(hashes)) {
      isClosed = true;
      events.ended();
      return;
    }
    timer = clock.setTimeout(() => void poll(), POLL_INTERVAL_MS).unref();
    events.notified(hashes.slice(0, MAX_HASHES).filter(isHash));
  };
  timer = clock.setTimeout(() => void poll(), POLL_INTERVAL_MS).unref();
  return {
    close: () => {
      if (isClosed) return;
      isClosed = true;
      clock.clearTimeout(timer);
      source.fetchResult(nodeMethods.removeFilter, params).catch(() => undefined);
    },
  };
}
