import type { FixedUpstreamOptions } from '../network-files/network-config.ts';
import { BatchingUpstream } from '../upstreams/transport/batching-upstream.ts';
import { HttpUpstream } from '../upstreams/transport/http-upstream.ts';
import type { MemoryBudget } from '../memory/memory-budget.ts';
import type { Transport } from '../upstreams/transport/transport.ts';
import { WebSocketUpstream } from '../upstreams/transport/websocket-upstream.ts';

/** Time without batches after an upstream rejected one, with `batch: auto` and with `batch: true`. */
const REJECTED_MS = 600_000;
const RETRIED_MS = 60_000;

/** Bounds of an upstream. */
export interface TransportBounds {
  readonly connections: number;
  /** Maximum of a response, unless the upstream has `maxResponseBytes`. */
  readonly responseMaxBytes: number;
}

/** Opens the transport of a single upstream. Undefined for a node that the gateway spawns. Connects with the first call. */
export function openTransport(upstream: FixedUpstreamOptions, bounds: TransportBounds): Transport | undefined {
  const { url, websocketUrl } = upstream;
  if (url !== undefined) return openHttp(url, upstream, bounds);
  return websocketUrl === undefined ? undefined : openWebSocket(websocketUrl, upstream, bounds);
}

/**
 * @param url of the upstream, or of the node that the gateway spawned for it
 * @param memory accounts responses; undefined: they are not accounted
 */
export function openHttp(
  url: string,
  { headers, batch, tls, proxyUrl, maxResponseBytes }: FixedUpstreamOptions,
  bounds: TransportBounds,
  memory?: MemoryBudget,
): Transport {
  const { connections } = bounds;
  const responseMaxBytes = maxResponseBytes ?? bounds.responseMaxBytes;
  const http = new HttpUpstream({ url, headers, connections, responseMaxBytes, memory, tls, proxyUrl });
  if (batch === false) return http;
  return batch === 'auto' ? new BatchingUpstream(http, REJECTED_MS, true) : new BatchingUpstream(http, RETRIED_MS);
}

/** Opens a WebSocket transport, as `openHttp` does. */
export function openWebSocket(
  url: string,
  { name, headers, tls, proxyUrl, maxResponseBytes }: FixedUpstreamOptions,
  { connections: slots, ...bounds }: TransportBounds,
  memory?: MemoryBudget,
): WebSocketUpstream {
  const responseMaxBytes = maxResponseBytes ?? bounds.responseMaxBytes;
  return new WebSocketUpstream({ name, url, headers, slots, responseMaxBytes, memory, tls, proxyUrl });
}
