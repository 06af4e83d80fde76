/** An upstream, as far as its pending transactions are heard of. */
export interface PendingSource {
  readonly health: { readonly isUp: boolean };
  /** @param params as JSON text  @throws Error where no result comes */
  resultOf(method: string, params: string): Promise<unknown>;
  /** Has the node tell, over its WebSocket; undefined where it has none. `ended` comes once, unless it was closed. */
  subscribe(
    params: string,
    events: { started(): void; told(result: unknown): void; ended(): void },
  ): { close(): void } | undefined;
}

export interface StreamEvents {
  told(hashes: readonly string[]): void;
  /** Once, unless it was closed: it tells no more. */
  ended(): void;
}

export interface PendingStream {
  close(): void;
}

const POLL_MS = 500;

/** Hears of pending transactions from one upstream: by its WebSocket, else by polls of a filter that it keeps for us. */
export async function openPendingStream(source: PendingSource, events: StreamEvents): Promise<PendingStream> {
  return (await openFeed(source, events)) ?? openFilter(source, events);
}

/** Undefined where the node has no WebSocket, or does not tell over it. */
function openFeed(source: PendingSource, events: StreamEvents): Promise<PendingStream | undefined> {
  return new Promise((resolve) => {
    let hasStarted = false;
    const feed = source.subscribe('["newPendingTransactions"]', {
      started: () => {
        hasStarted = true;
        resolve(feed);
      },
      told: (hash) => {
        if (typeof hash === 'string') events.told([hash]);
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
async function openFilter(source: PendingSource, events: StreamEvents): Promise<PendingStream> {
  const id = await source.resultOf('eth_newPendingTransactionFilter', '[]');
  if (typeof id !== 'string') throw new Error('no filter is kept');
  const params = JSON.stringify([id]);
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const poll = async (): Promise<void> => {
    const hashes = await source.resultOf('eth_getFilterChanges', params).catch(() => undefined);
    if (isClosed) return;
    if (!Array.isArray(hashes)) {
      isClosed = true;
      events.ended();
      return;
    }
    timer = setTimeout(() => void poll(), POLL_MS).unref();
    events.told(hashes.filter((hash) => typeof hash === 'string'));
  };
  timer = setTimeout(() => void poll(), POLL_MS).unref();
  return {
    close: () => {
      if (isClosed) return;
      isClosed = true;
      clearTimeout(timer);
      source.resultOf('eth_uninstallFilter', params).catch(() => undefined);
    },
  };
}
