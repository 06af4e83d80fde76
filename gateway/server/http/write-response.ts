import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Body, BufferList, buffersOf, byteLengthOf } from '../../jsonrpc/buffer-list.ts';
import type { Proof } from '../../jsonrpc/proof.ts';
import type { FlowingBytes, RpcResponse } from '../../jsonrpc/response.ts';
import { timeSlicer } from '../../jsonrpc/time-slices.ts';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import type { Cancellation } from '../../upstreams/transport/cancellation.ts';
import { type IncomingRequest, KEEP_ALIVE_S } from './client-connection.ts';
import { REQUEST_BYTES } from './request-options.ts';

/** One day. Browsers' default is 5 s, with a preflight before nearly every call. */
const PREFLIGHT_MAX_AGE_S = '86400';

/** Response headers that a page's scripts may read. */
export const EXPOSED_HEADERS = 'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id';

/** Clients that read it do not send on a connection that is about to be closed. */
export const KEEP_ALIVE = `timeout=${KEEP_ALIVE_S}`;

/** Bytes copied into the kernel at once, in about 0.1 ms. Smaller responses are written in one step. */
const PART_BYTES = 262_144;

/**
 * Writes a response, in parts if it is large.
 * @param rpcResponse undefined: the body had only notifications, so 204 without a body is written
 * @param explanation ASCII text of X-Gatehouse-Explain
 * @param proof the weakest of the results; undefined: none was verified
 */
export function writeResponse(
  response: ServerResponse,
  requestId: string,
  rpcResponse: RpcResponse | undefined,
  explanation?: string,
  proof?: Proof,
): void {
  if (rpcResponse === undefined) {
    // prettier-ignore
    response.writeHead(204, keptAlive(response, [
      'X-Request-Id', requestId,
      'Access-Control-Allow-Origin', '*',
      'Access-Control-Expose-Headers', EXPOSED_HEADERS,
      'Keep-Alive', KEEP_ALIVE,
    ]));
    response.end();
    return;
  }
  const { result } = rpcResponse;
  // An array is the fastest form that Node has: 1.1 µs, 1.3 as an object, 3.0 with `setHeader` (measured 2026-11-23).
  // prettier-ignore
  const headers = keptAlive(response, [
    'Content-Type', 'application/json',
    result === undefined ? 'Content-Length' : 'Transfer-Encoding',
    result === undefined ? String(byteLengthOf(rpcResponse.body)) : 'chunked',
    'X-Request-Id', requestId,
    'Access-Control-Allow-Origin', '*',
    'Access-Control-Expose-Headers', EXPOSED_HEADERS,
    'Keep-Alive', KEEP_ALIVE,
  ]);
  if (rpcResponse.allowance !== undefined) addAllowance(headers, rpcResponse.allowance);
  if (explanation !== undefined) addExposed(headers, 'X-Gatehouse-Explain', explanation);
  if (proof !== undefined) addExposed(headers, 'X-Gatehouse-Verified', proof);
  if (rpcResponse.status !== 200) addRejectionHeaders(headers, rpcResponse.status, rpcResponse.retryAfterS);
  if (rpcResponse.reasonPhrase === undefined) response.writeHead(rpcResponse.status, headers);
  else response.writeHead(rpcResponse.status, rpcResponse.reasonPhrase, headers);
  if (response.req.complete) {
    const { body } = rpcResponse;
    if (result !== undefined) response.write(body);
    else if (body.length > PART_BYTES) void writeInParts(response, body);
    else if (body instanceof BufferList) writeTogether(response, body);
    else response.end(body);
  } else endAfterRequest(response, rpcResponse.body);
}

/** Node sends what is written before the end in one system call. */
function writeTogether(response: ServerResponse, { buffers }: BufferList): void {
  for (const bytes of buffers) response.write(bytes);
  response.end();
}

/**
 * Rejects a client that is still sending. The whole response is written at once, but ends only after the request:
 * closing a connection with unread bytes resets it, and the client may never see the response.
 */
function endAfterRequest(response: ServerResponse, body: Body): void {
  for (const bytes of buffersOf(body)) response.write(bytes);
  response.req.once('close', () => response.end()).resume();
}

/**
 * Responds to a CORS preflight: pages of any origin may call.
 * @param privateNetworkOrigin may also call a gateway in its private network
 */
export function writePreflight(
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
  privateNetworkOrigin: string | undefined,
): void {
  // prettier-ignore
  response.writeHead(204, keptAlive(response, [
    'X-Request-Id', requestId,
    'Access-Control-Allow-Origin', privateNetworkOrigin ?? '*',
    ...(privateNetworkOrigin === undefined ? [] : ['Access-Control-Allow-Private-Network', 'true']),
    'Access-Control-Allow-Methods', 'POST, OPTIONS',
    'Access-Control-Allow-Headers', request.headers['access-control-request-headers'] ?? 'content-type',
    'Access-Control-Max-Age', PREFLIGHT_MAX_AGE_S,
    'Vary', 'Access-Control-Request-Headers, Access-Control-Request-Private-Network, Origin',
    'Keep-Alive', KEEP_ALIVE,
  ]));
  response.end();
}

/** Removes the last header, `Keep-Alive`, if the response closes its connection. An array that grows would be copied. */
function keptAlive(response: ServerResponse, headers: string[]): string[] {
  if (!response.shouldKeepAlive) headers.length -= 2;
  return headers;
}

function addRejectionHeaders(headers: string[], status: number, retryAfterS: number | undefined): void {
  if (status === 405) headers.push('Allow', 'POST, OPTIONS');
  // The encodings that are accepted: RFC 9110 §12.5.3.
  if (status === 415) headers.push('Accept-Encoding', 'gzip');
  // Required by RFC 9110 §15.5.22.
  if (status === 426) headers.push('Upgrade', 'websocket');
  if (retryAfterS !== undefined) headers.push('Retry-After', formatRetryAfter(retryAfterS));
}

function addExposed(headers: string[], name: string, value: string): void {
  headers.push(name, value, 'Access-Control-Expose-Headers', name);
}

/** Seconds with at least two digits: ethers 6 reads `1` as 1 ms and retries at once. With `01` it uses its own backoff. */
export function formatRetryAfter(seconds: number): string {
  return String(seconds).padStart(2, '0');
}

/** https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-03, the version that clients support. */
function addAllowance(headers: string[], { limit, remaining, resetS }: NonNullable<RpcResponse['allowance']>): void {
  // prettier-ignore
  headers.push(
    'RateLimit-Limit', String(limit),
    'RateLimit-Remaining', String(remaining),
    'RateLimit-Reset', String(resetS),
  );
}

/** Writes a response. Its bytes are accounted until the client has read them. */
export function writeAccounted(
  { id, reservation, clientConnection }: IncomingRequest,
  response: ServerResponse,
  encoded: RpcResponse | undefined,
  explanation?: string,
  proof?: Proof,
): void {
  writeResponse(response, id, encoded, explanation, proof);
  reservation.setTo(REQUEST_BYTES + (encoded?.body.length ?? 0));
  clientConnection.watchUnread(response, reservation);
}

/**
 * Writes a large body in parts, after its headers. A single write would block the event loop while the kernel copies
 * all that the client reads meanwhile, up to the whole body. Never rejects.
 * @param last follows the body in one step
 */
export async function writeInParts(response: ServerResponse, body: Body, last?: Buffer): Promise<void> {
  for (const bytes of buffersOf(body)) {
    for (let from = 0; from < bytes.length; from += PART_BYTES) {
      const pause = timeSlicer.next();
      if (pause !== undefined) await pause;
      // The client has disconnected.
      if (response.destroyed) return;
      if (!response.write(bytes.subarray(from, from + PART_BYTES))) await waitForDrain(response);
    }
  }
  response.end(last);
}

/** Resolves when the written bytes are in the kernel's buffers, or the client has disconnected. */
function waitForDrain(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

/**
 * Writes a result as it arrives, and the end of its response. If it fails, the connection ends, so that the client sees an
 * incomplete body. Never rejects.
 * @param caller is cancelled when the connection closes: a response behind others of its connection has no `close` of its own
 * @param owner whose time of the event loop it takes
 * @param onUnread called when the client has not read what is written
 */
export async function writeFlow(
  response: ServerResponse,
  result: FlowingBytes,
  caller: Cancellation,
  owner: string,
  onUnread: () => void,
): Promise<void> {
  const departure = {
    cancellationPlace: -1,
    cancel: () => {
      result.cancel();
    },
  };
  caller.add(departure);
  const writeNext = (): boolean | undefined => {
    let isDrained = true;
    const bytes = result.next();
    for (const part of bytes ?? []) isDrained = response.write(part);
    return bytes === undefined ? undefined : isDrained;
  };
  try {
    for (;;) {
      const arrival = result.wait();
      if (arrival !== undefined) await arrival;
      const pause = timeSlicer.next();
      if (pause !== undefined) await pause;
      if (response.destroyed || caller.isCancelled) {
        result.cancel();
        return;
      }
      const isDrained = turnBudget.run(owner, writeNext);
      if (isDrained === undefined) break;
      if (isDrained) continue;
      onUnread();
      await Promise.race([waitForDrain(response), result.ended]);
    }
    response.end('}');
  } catch {
    // The call has recorded the failure.
    response.destroy();
  } finally {
    caller.delete(departure);
  }
}
