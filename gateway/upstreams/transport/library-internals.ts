import type { Client, Pool } from 'undici';
import type { WebSocket } from 'ws';
import { loadPackage } from '../../config/load-package.ts';

/*
 * Parts of undici and ws that they do not document: no other file of upstreams/ uses any. They were tested with undici 7.30.2
 * and ws 8.21.0. test/upstreams/transport/library-internals.test.ts fails when one of them changes.
 */

/**
 * Parts of undici, only the pool: an idle gateway has 76.5 MB and is ready after 0.79 s; with the whole of undici, 80.3 MB and
 * 0.89 s (medians of 7 alternating rounds, Node 20, 2026-11-24).
 */
export const UndiciPool = loadPackage('undici/lib/dispatcher/pool.js') as typeof Pool;
export const UndiciClient = loadPackage('undici/lib/dispatcher/client.js') as typeof Client;

/** Bytes of the incomplete message of a WebSocket, by the lengths of its frames. */
export function incompleteBytesOf(socket: WebSocket): number {
  const { _receiver: receiver } = socket as unknown as {
    readonly _receiver?: { readonly _totalPayloadLength: number };
  };
  return receiver?._totalPayloadLength ?? 0;
}
