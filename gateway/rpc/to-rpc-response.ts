import type { CachedResponse } from '../cache/response-cache.ts';
import { errorResponse, largeResponse, resultResponse, type RpcResponse } from '../jsonrpc/response.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';

/** The response to a call from that of an upstream or of the cache. @param id of the call as JSON text */
export function toRpcResponse(id: string, response: UpstreamResponse | CachedResponse): RpcResponse {
  if (response.kind === 'cached') return cachedResponse(id, response.result);
  if (response.kind === 'result') return resultResponse(id, response.text ?? JSON.stringify(response.result));
  if (response.kind === 'large') return largeResponse(id, response.parts);
  return errorResponse(id, response.code, response.message, response.data as string | undefined);
}

function cachedResponse(id: string, result: string | Buffer): RpcResponse {
  return typeof result === 'string' ? resultResponse(id, result) : largeResponse(id, [result]);
}
