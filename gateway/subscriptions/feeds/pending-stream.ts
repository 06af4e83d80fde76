/** An upstream, as far as its pending transactions are heard of. */
export interface PendingSource {
  readonly circuit: { readonly isClosed: boolean };
  /** @param params as JSON text  @throws Error where no result comes */
  fetchResult(method: string, params: string): Promise<unknown>;
  /** Has the node tell, over its WebSocket; undefined where it has none. `ended` comes once, unless it was closed. */
  subscribe(
    params: string,
    events: { started(): void; notified(result: unknown): void; ended(): void },
  ): { close(): void } | undefined;
}

export interface StreamEvents {
  notified(hashes: readonly string[]): void;
  /** Once, unless it was closed: it tells no more. */
  ended(): void;
}

export interface PendingStream {
  close(): void;
}

const POLL_INTERVAL_MS = 500;

/** Hears of pending transactions from one upstream: by its WebSocket, else by polls of a filter that it keeps for us. */
export async function openPendingStream(source: PendingSource, events: StreamEvents): Promise<PendingStream> {
  return (await openSubscription(source, events)) ?? openPolledFilter(source, events);
}

/** Undefined where the node has no WebSocket, or does not tell over it. */
function openSubscription(source: PendingSource, events: StreamEvents): Promise<PendingStream | undefined> {
  return new Promise((resolve) => {
    let hasStarted = false;
    const feed = source.subscribe('["newPendingTransactions"]', {
      started: () => {
        hasStarted = true;
        resolve(feed);
      },
      notified: (hash) => {
        if (typeof hash === 'string') events.notified([hash]);
      },
      ended: () => {
        if (hasStarted) events.ended();
        else resolve(undefined);
      },
    });
    if (feed === undefined) resolve(undefined);
  });
}

/** @throws Error where the node keeps no filters (rejects with it) */
async function openPolledFilter(source: PendingSource, events: StreamEvents): Promise<PendingStream> {
  const id = await source.fetchResult('eth_newPendingTransactionFilter', '[]');
  if (typeof id !== 'string') throw new Error('no filter is kept');
  const params = JSON.stringify([id]);
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const poll = async (): Promise<void> => {
    const hashes = await source.fetchResult('eth_getFilterChanges', params).catch(() => undefined);
    if (isClosed) return;
    if (!Array.isArray(hashes)) {
      isClosed = true;
      events.ended();
      return;
    }
    timer = setTimeout(() => void poll(), POLL_INTERVAL_MS).unref();
    events.notified(hashes.filter((hash) => typeof hash === 'string'));
  };
  timer = setTimeout(() => void poll(), POLL_INTERVAL_MS).unref();
  return {
    close: () => {
      if (isClosed) return;
      isClosed = true;
      clearTimeout(timer);
      source.fetchResult('eth_uninstallFilter', params).catch(() => undefined);
    },
  };
}
