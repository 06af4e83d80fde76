import type { Settings } from '../config/settings.ts';
import type { UpstreamConfig } from '../network-files/network-config.ts';
import { BatchingUpstream } from '../upstreams/transport/batching-upstream.ts';
import { HttpUpstream } from '../upstreams/transport/http-upstream.ts';
import type { Transport } from '../upstreams/transport/transport.ts';
import { WebSocketUpstream } from '../upstreams/transport/websocket-upstream.ts';

export type TransportSettings = Pick<Settings, 'UPSTREAM_CONNECTIONS' | 'UPSTREAM_RESPONSE_MAX_BYTES'>;

export type Headers = UpstreamConfig['headers'];

/** Opens the transport of a single upstream. Undefined for a node that the gateway spawns. Connects with the first call. */
export function openTransport(
  { url, websocketUrl, headers, batch }: UpstreamConfig,
  settings: TransportSettings,
): Transport | undefined {
  if (url !== undefined) return openHttp({ url, headers, batch }, settings);
  return websocketUrl === undefined ? undefined : openWebSocket({ websocketUrl, headers }, settings);
}

export function openHttp(
  address: { url: string; headers: Headers; batch?: boolean },
  settings: TransportSettings,
): Transport {
  const { UPSTREAM_CONNECTIONS: connections, UPSTREAM_RESPONSE_MAX_BYTES: responseMaxBytes } = settings;
  const http = new HttpUpstream({ ...address, connections, responseMaxBytes });
  return address.batch === true ? new BatchingUpstream(http) : http;
}

export function openWebSocket(
  { websocketUrl: url, headers }: { websocketUrl: string; headers: Headers },
  { UPSTREAM_RESPONSE_MAX_BYTES: responseMaxBytes }: TransportSettings,
): WebSocketUpstream {
  return new WebSocketUpstream({ url, headers, responseMaxBytes });
}
