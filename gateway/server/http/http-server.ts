import { createServer, STATUS_CODES, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { rejectionResponse } from '../../jsonrpc/response.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import { closeServer, announceClose, waitForIdleBacklog, type ServerConnection } from './drain-server.ts';
import { isWebSocketUpgrade, serveIgnoringUpgrade } from './reject-upgrade.ts';
import { requestIds } from './request-ids.ts';
import { EXPOSED_HEADERS, retryAfter, writeResponse } from './write-response.ts';

/** Longer than the idle time of usual balancers (60 s), so that they never send on a connection that we just closed. */
const KEEP_ALIVE_MS = 65_000;
const HEADERS_TIMEOUT_MS = 10_000;
/** How long a caller who was shown the door may keep its side of the connection open. */
const LINGER_MS = 1_000;

/** A listening server. */
export interface Listener {
  readonly port: number;
  /**
   * From now on every answer closes its connection. After `delayMs` takes no more connections, lets requests under way
   * end, and after `limitMs` more breaks off those that still are.
   */
  drain(timeoutMs: number, delayMs?: number): Promise<void>;
}

/** Who takes over the connections of callers that ask for WebSocket. */
export interface UpgradeHandler {
  /** @param head what was read after the request  @throws RpcError (rejects with it): refused, before 101 */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer, requestId: string): Promise<void>;
  /** Lets nobody in from now on, and sees to it that all who are in leave before `limitMs`. */
  drain(timeoutMs: number): void;
}

/**
 * @param upgradeHandler without one, a wish for WebSocket is passed over
 * @throws when the address is taken or not ours
 */
export async function listen(
  app: RequestListener,
  host: string,
  port: number,
  requestTimeoutMs: number,
  upgradeHandler?: UpgradeHandler,
): Promise<Listener> {
  const nextRequestId = requestIds();
  const sockets = new Set<Socket>();
  let isDraining = false;
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    if (isDraining) response.setHeader('Connection', 'close');
    // HTTP/1.1 demands a Host; Node's own refusal has neither a body nor an id.
    if (isMissingHost(request)) {
      writeResponse(response, nextRequestId(), rejectionResponse('null', new RpcError('bad-http')));
    } else app(request, response);
  };
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
  // An Expect that is not 100-continue may be passed over (RFC 9110 §10.1.1); Node would refuse it, without a body.
  server.on('checkExpectation', onRequest);
  // The body is asked for once the key was found good.
  server.on('checkContinue', onRequest);
  server.on('connection', (socket) => {
    // It begins anew after an upgrade that was passed over.
    if (sockets.has(socket)) return;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || hasStartedResponse(socket)) socket.destroy();
    // Otherwise it was refused before.
    else if (socket.writable) rejectSocket(socket, rejectionOf(error), nextRequestId());
  });
  server.on('connect', (_request, socket: Duplex) => {
    rejectSocket(socket, new RpcError('verb-not-allowed'), nextRequestId(), 'Allow: POST, OPTIONS\r\n');
  });
  if (upgradeHandler !== undefined) {
    server.on('upgrade', (request, _duplex, head) => {
      const { socket } = request;
      // There is no way to say 101 before the answer that is due.
      if (hasPendingResponse(socket)) socket.destroy();
      else if (!isWebSocketUpgrade(request)) serveIgnoringUpgrade(server, request, socket, head);
      else {
        const requestId = nextRequestId();
        // Node took its own listeners away: without one, a reset would end the process.
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

/** What we sent now would be taken for a part of the answer. Node's own handler looks at the same member. */
function hasStartedResponse(socket: ServerConnection): boolean {
  return socket._httpMessage?.headersSent === true;
}

/** An earlier request of the connection has not been answered. */
function hasPendingResponse({ _httpMessage: due }: ServerConnection): boolean {
  return due !== undefined && due !== null;
}

function isMissingHost(request: IncomingMessage): boolean {
  return request.headers.host === undefined && request.httpVersion === '1.1';
}

function rejectionOf({ code }: NodeJS.ErrnoException): RpcError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new RpcError('body-too-slow');
  return new RpcError('bad-http', code === 'HPE_HEADER_OVERFLOW' ? 'bad HTTP request: headers too large' : undefined);
}

/** Answers what is not HTTP, comes too slowly, or is not let in to WebSocket, and so never reaches the app. */
function rejectSocket(socket: Duplex, rejection: RpcError, requestId: string, headers = ''): void {
  const { status, ...rpcResponse } = rejectionResponse('null', rejection);
  const body = rpcResponse.body.toString();
  const retryHeader =
    rejection.retryAfterS === undefined ? '' : `Retry-After: ${retryAfter(rejection.retryAfterS)}\r\n`;
  // Node takes its own listeners away when it hands a socket over: without one, a reset would end the process.
  socket.on('error', () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${requestId}\r\n` +
      `Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: ${EXPOSED_HEADERS}\r\n` +
      `${retryHeader}${headers}Connection: close\r\n\r\n${body}`,
  );
  // What still comes is read and dropped for a while: to close upon unread bytes would take the answer away again.
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
