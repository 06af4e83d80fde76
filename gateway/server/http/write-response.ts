import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RpcResponse } from '../../jsonrpc/response.ts';
import { PART_BYTES, writeInParts } from './write-in-parts.ts';

/** A day: without it a browser asks before nearly every call (5 s is its default). */
const PREFLIGHT_MAX_AGE_S = '86400';

/** What a page may read of our headers. */
export const EXPOSED_HEADERS = 'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id';

/** An answer, or one that was compressed. */
export type EncodedResponse = Omit<RpcResponse, 'body'> & { readonly body: string | Buffer };

/**
 * Writes what a caller is told, in one go unless it is large. Undefined: notifications only.
 * @param explanation in ASCII
 */
export function writeResponse(
  response: ServerResponse,
  requestId: string,
  rpcResponse: EncodedResponse | undefined,
  explanation?: string,
): void {
  if (rpcResponse === undefined) {
    // prettier-ignore
    response.writeHead(204, [
      'X-Request-Id', requestId,
      'Access-Control-Allow-Origin', '*',
      'Access-Control-Expose-Headers', EXPOSED_HEADERS,
    ]);
    response.end();
    return;
  }
  // prettier-ignore
  const headers = [
    'Content-Type', 'application/json',
    'Content-Length', String(Buffer.byteLength(rpcResponse.body)),
    'X-Request-Id', requestId,
    'Access-Control-Allow-Origin', '*',
    'Access-Control-Expose-Headers', EXPOSED_HEADERS,
  ];
  if (rpcResponse.allowance !== undefined) addAllowance(headers, rpcResponse.allowance);
  if (explanation !== undefined) addExplanation(headers, explanation);
  if (rpcResponse.status !== 200) addRejectionHeaders(headers, rpcResponse.status, rpcResponse.retryAfterS);
  response.writeHead(rpcResponse.status, headers);
  if (response.req.complete) {
    if (rpcResponse.body.length <= PART_BYTES) response.end(rpcResponse.body);
    else void writeInParts(response, rpcResponse.body);
  } else endAfterRequest(response, rpcResponse.body);
}

/**
 * For a caller that is refused while it still sends. It has the whole answer at once; but where the connection is to be
 * closed after it, it must not be closed upon unread bytes: that resets it, and the caller may never see the answer.
 */
function endAfterRequest(response: ServerResponse, body: string | Buffer): void {
  response.write(body);
  response.req.once('close', () => response.end()).resume();
}

/** Answers a browser that asks whether a page of another origin may call. */
export function writePreflight(request: IncomingMessage, response: ServerResponse, requestId: string): void {
  // prettier-ignore
  response.writeHead(204, [
    'X-Request-Id', requestId,
    'Access-Control-Allow-Origin', '*',
    'Access-Control-Allow-Methods', 'POST, OPTIONS',
    'Access-Control-Allow-Headers', request.headers['access-control-request-headers'] ?? 'content-type',
    'Access-Control-Max-Age', PREFLIGHT_MAX_AGE_S,
    'Vary', 'Access-Control-Request-Headers',
  ]);
  response.end();
}

function addRejectionHeaders(headers: string[], status: number, retryAfterS: number | undefined): void {
  if (status === 405) headers.push('Allow', 'POST, OPTIONS');
  // Which encodings would do: RFC 9110 §12.5.3.
  if (status === 415) headers.push('Accept-Encoding', 'gzip');
  // RFC 9110 §15.5.22 demands it.
  if (status === 426) headers.push('Upgrade', 'websocket');
  if (retryAfterS !== undefined) headers.push('Retry-After', retryAfter(retryAfterS));
}

function addExplanation(headers: string[], explanation: string): void {
  headers.push('X-Gatehouse-Explain', explanation, 'Access-Control-Expose-Headers', 'X-Gatehouse-Explain');
}

/** Two digits: ethers 6 reads `1` as a millisecond and hammers, `01` makes it back off by itself. */
export function retryAfter(seconds: number): string {
  return String(seconds).padStart(2, '0');
}

/** https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-03: what clients know so far. */
function addAllowance(headers: string[], { limit, remaining, resetS }: NonNullable<RpcResponse['allowance']>): void {
  // prettier-ignore
  headers.push(
    'RateLimit-Limit', String(limit),
    'RateLimit-Remaining', String(remaining),
    'RateLimit-Reset', String(resetS),
  );
}
