import { createServer, STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { rejectionResponse } from '../../jsonrpc/response.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import { closeServer, announceClose, waitForIdleBacklog, type ServerConnection } from './drain-server.ts';
import { isWebSocketUpgrade, serveIgnoringUpgrade } from './ignore-upgrade.ts';
import type { Reservation } from '../../memory/reservation.ts';
import { pipelined, type PipelineOptions, type RequestHandler } from './pipeline.ts';
import { createRequestIds } from './request-ids.ts';
import { EXPOSED_HEADERS, formatRetryAfter, writeResponse } from './write-response.ts';

/** Longer than the usual idle timeout of load balancers (60 s), so that they never send on a closed connection. */
const KEEP_ALIVE_MS = 65_000;
const HEADERS_TIMEOUT_MS = 10_000;
/** How long a rejected client may keep its side of the connection open. */
const LINGER_MS = 1_000;

/** A listening port. */
export interface Listener {
  readonly port: number;
  /**
   * Makes every response from now on close its connection. After `delayMs`, stops accepting connections and waits for
   * requests in progress. Destroys the remaining connections after another `timeoutMs`.
   */
  drain(timeoutMs: number, delayMs?: number): Promise<void>;
}

/** Takes over connections that are upgraded to WebSocket. */
export interface UpgradeHandler {
  /** @param head bytes read after the request  @throws RpcError (rejects with it) if rejected, before 101 */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer, requestId: string): Promise<void>;
  /** Rejects upgrades from now on, and closes all sockets within `timeoutMs`. */
  drain(timeoutMs: number): void;
}

/**
 * @param upgradeHandler undefined: upgrades are ignored, and the request is served over HTTP
 * @throws Error of the system if the address is in use or not local
 */
export async function listen(
  app: RequestHandler,
  host: string,
  port: number,
  requestTimeoutMs: number,
  pipelineOptions: PipelineOptions,
  upgradeHandler?: UpgradeHandler,
): Promise<Listener> {
  const nextRequestId = createRequestIds();
  const sockets = new Set<Socket>();
  let isDraining = false;
  const handle = (request: IncomingMessage, response: ServerResponse, reservation: Reservation): void => {
    if (isDraining) response.setHeader('Connection', 'close');
    // HTTP/1.1 requires a Host header. Node's own rejection has neither a body nor a request id.
    if (isMissingHost(request)) {
      writeResponse(response, nextRequestId(), rejectionResponse('null', new RpcError('bad-http')));
    } else app(request, response, reservation);
  };
  const onRequest = pipelined(pipelineOptions, handle);
  const server = createServer(
    {
      keepAliveTimeout: KEEP_ALIVE_MS,
      requestTimeout: requestTimeoutMs,
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs),
      connectionsCheckingInterval: Math.min(5_000, requestTimeoutMs),
      requireHostHeader: false,
    },
    onRequest,
  );
  // Other values of Expect than 100-continue may be ignored (RFC 9110 §10.1.1). Node would reject them without a body.
  server.on('checkExpectation', onRequest);
  // `rpc-route.ts` sends 100 Continue after it has authenticated the key.
  server.on('checkContinue', onRequest);
  server.on('connection', (socket) => {
    // An ignored upgrade emits this event again for its socket.
    if (sockets.has(socket)) return;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || hasStartedResponse(socket)) socket.destroy();
    // A socket that is not writable has been rejected already.
    else if (socket.writable) rejectSocket(socket, rejectionOf(error), nextRequestId());
  });
  server.on('connect', (_request, socket: Duplex) => {
    rejectSocket(socket, new RpcError('verb-not-allowed'), nextRequestId(), 'Allow: POST, OPTIONS\r\n');
  });
  if (upgradeHandler !== undefined) {
    server.on('upgrade', (request, _duplex, head) => {
      const { socket } = request;
      // 101 cannot be sent before the response to an earlier request.
      if (hasPendingResponse(socket)) socket.destroy();
      else if (!isWebSocketUpgrade(request)) serveIgnoringUpgrade(server, request, socket, head);
      else {
        const requestId = nextRequestId();
        // Node has removed its own listeners. Without one, a reset would end the process.
        socket.on('error', () => socket.destroy());
        const upgrade = isMissingHost(request)
          ? Promise.reject(new RpcError('bad-http'))
          : upgradeHandler.upgrade(request, socket, head, requestId);
        upgrade.catch((error: unknown) => {
          rejectSocket(socket, error as RpcError, requestId);
        });
      }
    });
  }
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    drain: async (timeoutMs, delayMs = 0) => {
      isDraining = true;
      announceClose(sockets);
      if (delayMs > 0) {
        await sleep(delayMs);
        await waitForIdleBacklog(server);
      }
      upgradeHandler?.drain(timeoutMs);
      await closeServer(server, sockets, timeoutMs);
    },
  };
}

/** Whether bytes sent now would become part of a response. Node's own handler reads the same member. */
function hasStartedResponse(socket: ServerConnection): boolean {
  return socket._httpMessage?.headersSent === true;
}

/** Whether an earlier request of the connection has no response yet. */
function hasPendingResponse({ _httpMessage: pending }: ServerConnection): boolean {
  return pending !== undefined && pending !== null;
}

function isMissingHost(request: IncomingMessage): boolean {
  return request.headers.host === undefined && request.httpVersion === '1.1';
}

function rejectionOf({ code }: NodeJS.ErrnoException): RpcError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new RpcError('body-too-slow');
  return new RpcError('bad-http', code === 'HPE_HEADER_OVERFLOW' ? 'bad HTTP request: headers too large' : undefined);
}

/** Writes the response for input that never reaches the app: invalid HTTP, slow requests, rejected upgrades. */
function rejectSocket(socket: Duplex, rejection: RpcError, requestId: string, headers = ''): void {
  const { status, ...rpcResponse } = rejectionResponse('null', rejection);
  const body = rpcResponse.body.toString();
  const retryHeader =
    rejection.retryAfterS === undefined ? '' : `Retry-After: ${formatRetryAfter(rejection.retryAfterS)}\r\n`;
  // Node removes its own listeners when it hands a socket over. Without one, a reset would end the process.
  socket.on('error', () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${requestId}\r\n` +
      `Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: ${EXPOSED_HEADERS}\r\n` +
      `${retryHeader}${headers}Connection: close\r\n\r\n${body}`,
  );
  // Input is read and dropped for a while: closing with unread bytes resets the connection and may lose the response.
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
