import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { clock } from '../../clock/clock.ts';
import { waitForIdleBacklog } from '../../event-loop/idle-backlog.ts';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import { rejectionResponse } from '../../jsonrpc/response.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { WorkerPorts } from '../../workers/worker-ports.ts';
import {
  connectionOf,
  type ConnectionOptions,
  IncomingRequest,
  isConnection,
  type RequestHandler,
} from './client-connection.ts';
import { ClientConnections } from './client-connections.ts';
import { createRequestIds } from './request-ids.ts';
import { EXPOSED_HEADERS, formatRetryAfter, writeResponse } from './write-response.ts';

/**
 * Owner of the event-loop time for late requests, of which Node reports many at once. Bounds the attack `unfinished heads of tiny
 * headers`.
 */
const LATE_REQUESTS = 'late requests';
const HEADERS_TIMEOUT_MS = 10_000;
/**
 * Maximum number of headers, as of other proxies: Envoy 100, HAProxy 101, Apache 100. Node keeps an object for each name and
 * value.
 */
const MAX_HEADERS = 100;
/** How long a rejected client may keep its side of the connection open. */
const LINGER_MS = 1_000;
const CLOSE_IDLE_EVERY_MS = 50;
/** How long a new connection may take to send its first byte. */
const FIRST_BYTE_TIMEOUT_MS = 250;

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
  upgrade(request: IncomingRequest, socket: Socket, head: Buffer): Promise<void>;
  /** Rejects upgrades from now on, and closes all sockets within `timeoutMs`. */
  drain(timeoutMs: number): void;
}

/** Where a server listens. */
export interface ListenAddress {
  /** The use of the port. */
  readonly name: 'main' | 'ops';
  readonly host: string;
  readonly port: number;
  /** Ports of one of several workers. Undefined: the server listens itself. */
  readonly ports?: Pick<WorkerPorts, 'listen' | 'close'> | undefined;
}

/**
 * @param upgradeHandler undefined: upgrades are ignored, and the request is served over HTTP
 * @throws Error of the system if the address is in use or not local
 */
export async function listen(
  handle: RequestHandler,
  { name, host, port, ports }: ListenAddress,
  requestTimeoutMs: number,
  connectionOptions: ConnectionOptions,
  upgradeHandler?: UpgradeHandler,
): Promise<Listener> {
  const nextRequestId = createRequestIds();
  const connections = new ClientConnections(connectionOptions, handle);
  let isDraining = false;
  const onRequest = (request: IncomingRequest, response: ServerResponse<IncomingRequest>): void => {
    if (isDraining) response.shouldKeepAlive = false;
    const connection = (request.clientConnection = connectionOf(request.socket));
    if (connection.last === undefined && isAmbiguous(request)) {
      connection.endWith(response);
      writeResponse(response, nextRequestId(), rejectionResponse('null', headRejection(request)));
      connectionOptions.rejectedBodies.add(request, connectionOptions.accountOf(request).name);
    }
    connection.arrived(request, response);
  };
  const server = createServer(
    {
      IncomingMessage: IncomingRequest,
      // `ClientConnections` closes them.
      keepAliveTimeout: 0,
      requestTimeout: requestTimeoutMs,
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs),
      // Node's default is 30 s.
      connectionsCheckingInterval: Math.min(1_000, requestTimeoutMs),
      requireHostHeader: false,
    },
    onRequest,
  );
  // Node drops further ones, but uses a Content-Length there. So a request that has one more is rejected.
  server.maxHeadersCount = MAX_HEADERS + 1;
  // Other values of Expect than 100-continue may be ignored (RFC 9110 §10.1.1). Node would reject them without a body.
  server.on('checkExpectation', onRequest);
  // `rpc-request.ts` sends 100 Continue after it has authenticated the key.
  server.on('checkContinue', onRequest);
  server.on('connection', (socket) => {
    // An ignored upgrade emits this event again for its socket.
    if (!isConnection(socket)) connections.add(socket);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const { last, responses } = connectionOf(socket);
    const [oldest] = responses;
    const reject = (): void => {
      // Its request has arrived meanwhile: the rejection would be a part of the response, or follow it.
      if (responses[0] !== oldest || oldest?.headersSent === true) socket.destroy();
      // A socket that is not writable has been rejected already.
      else if (socket.writable) rejectSocket(socket, httpRejection(error), nextRequestId());
    };
    // The body of the ambiguous request cannot be read. Its response closes the connection.
    if (last?.headersSent === true) last.end();
    else if (error.code === 'ECONNRESET') socket.destroy();
    else if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT' || turnBudget.mayRun(LATE_REQUESTS))
      turnBudget.run(LATE_REQUESTS, reject);
    else turnBudget.wait(LATE_REQUESTS, turnBudget.run.bind(turnBudget, LATE_REQUESTS, reject));
  });
  server.on('connect', ({ socket }) => {
    if (connectionOf(socket).last !== undefined) return;
    rejectSocket(socket, new RpcError('verb-not-allowed'), nextRequestId(), 'Allow: POST, OPTIONS\r\n');
  });
  if (upgradeHandler !== undefined) {
    server.on('upgrade', (request, _duplex, head) => {
      const { socket } = request;
      const connection = (request.clientConnection = connectionOf(socket));
      if (connection.last !== undefined) return;
      // 101 cannot be sent before the response to an earlier request.
      if (connection.isInUse) socket.destroy();
      else if (isAmbiguous(request)) rejectSocket(socket, headRejection(request), nextRequestId());
      else if (!isWebSocketUpgrade(request)) serveIgnoringUpgrade(server, request, socket, head);
      else {
        request.id = nextRequestId();
        // Node has removed its own listeners. Without one, a reset would end the process.
        socket.on('error', () => socket.destroy());
        connections.upgraded(connection);
        upgradeHandler.upgrade(request, socket, head).catch((error: unknown) => {
          rejectSocket(socket, error as RpcError, request.id);
        });
      }
    });
  }
  let activePort: number;
  if (ports === undefined) {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, host, resolve);
    });
    activePort = (server.address() as AddressInfo).port;
  } else {
    activePort = await ports.listen({ name, host, port }, (socket) => server.emit('connection', socket));
    // Node checks the time limits of requests from this event on.
    server.emit('listening');
  }
  return {
    port: activePort,
    drain: async (timeoutMs, delayMs = 0) => {
      isDraining = true;
      announceClose(connections);
      if (delayMs > 0) await clock.sleep(delayMs);
      await (ports === undefined ? delayMs > 0 && waitForIdleBacklog(server) : ports.close(name));
      upgradeHandler?.drain(timeoutMs);
      await closeServer(server, connections, timeoutMs);
    },
  };
}

/**
 * Whether a proxy before the gateway may read the host or the end of the request differently: HTTP/1.1 has one Host line
 * (RFC 9112 §3.2), and bodies are in chunks without another transfer coding, which HTTP/1.0 does not have (§6.1). Node
 * rejects other ambiguities, such as a length with chunks. More headers than 100 are not all known.
 */
function isAmbiguous({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  if (rawHeaders.length > 2 * MAX_HEADERS) return true;
  const isOld = httpVersion !== '1.1';
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    // Most names are not compared.
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
    else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') {
      if (isOld || (rawHeaders[at + 1] as string).toLowerCase() !== 'chunked') return true;
    }
  }
  return hosts > 1 || (hosts === 0 && !isOld);
}

function headRejection({ rawHeaders }: IncomingMessage): RpcError {
  const hasTooMany = rawHeaders.length > 2 * MAX_HEADERS;
  return new RpcError('bad-http', hasTooMany ? `bad HTTP request: more than ${MAX_HEADERS} headers` : undefined);
}

function httpRejection({ code }: NodeJS.ErrnoException): RpcError {
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
    `HTTP/1.1 ${status} ${rpcResponse.reasonPhrase ?? ''}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${requestId}\r\n` +
      `Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: ${EXPOSED_HEADERS}\r\n` +
      `${retryHeader}${headers}Connection: close\r\n\r\n${body}`,
  );
  // Input is read and dropped for a while: closing with unread bytes resets the connection and may lose the response.
  socket.resume();
  clock.setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function isWebSocketUpgrade(request: IncomingMessage): boolean {
  return request.method === 'GET' && request.headers.upgrade?.toLowerCase() === 'websocket';
}

/**
 * Serves a request as if it had no Upgrade header, which RFC 9110 §7.8 allows: `curl --http2` and Java's client
 * request h2c with every first call. Node passes all upgrades to its listener (`shouldUpgradeCallback` needs Node 24).
 * So the request is put back into its connection without the header, and the connection is parsed anew.
 */
function serveIgnoringUpgrade(server: Server, request: IncomingMessage, socket: Socket, head: Buffer): void {
  const { method = '', url = '', httpVersion, rawHeaders } = request;
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.toLowerCase() !== 'upgrade') text += `${name}: ${rawHeaders[index + 1] ?? ''}\r\n`;
  }
  if (head.length > 0) socket.unshift(head);
  socket.unshift(Buffer.from(`${text}\r\n`, 'latin1'));
  server.emit('connection', socket);
}

/**
 * Makes the next response of each connection close it, as those to later requests do. Otherwise a client or load balancer might
 * send its next call while the connection closes, and not learn whether the call was handled.
 */
function announceClose({ open }: ClientConnections): void {
  for (const { responses } of open) {
    const next = responses.find(({ headersSent }) => !headersSent);
    if (next === undefined) continue;
    next.shouldKeepAlive = false;
    next.removeHeader('Keep-Alive');
  }
}

/** Stops accepting connections, waits for requests in progress, and destroys connections after `timeoutMs`. */
async function closeServer(server: Server, connections: ClientConnections, timeoutMs: number): Promise<void> {
  server.close();
  // Browsers open connections in advance. Node does not count them as idle before their first byte.
  const firstByteTimer = clock.setTimeout(() => {
    for (const socket of connections.sockets) if (socket.bytesRead === 0) socket.destroy();
  }, FIRST_BYTE_TIMEOUT_MS);
  // A connection whose last response is sent after `close` would otherwise stay open for its keep-alive time.
  const idleTimer = clock.setInterval(() => {
    // After pending input is read: a connection with an unread request also looks idle.
    clock.setImmediate(() => {
      server.closeIdleConnections();
    });
  }, CLOSE_IDLE_EVERY_MS);
  const deadlineTimer = clock.setTimeout(() => {
    for (const socket of connections.sockets) socket.destroy();
  }, timeoutMs);
  // Also those that another process has accepted, which the server does not know.
  await connections.allClosed();
  clock.clearTimeout(firstByteTimer);
  clock.clearInterval(idleTimer);
  clock.clearTimeout(deadlineTimer);
}
