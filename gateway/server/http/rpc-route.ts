import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KeyShare } from '../../admission/key-share.ts';
import type { Log } from '../../config/log.ts';
import { handleBody, rejectBody, type BatchLimits } from '../../rpc/handle-body.ts';
import { bodyRejectionResponse } from '../../jsonrpc/response.ts';
import { RpcError, type Reason } from '../../jsonrpc/errors.ts';
import { rejectionOf } from '../../jsonrpc/rejection-of.ts';
import type { Authenticator } from '../../auth/authenticate.ts';
import { sentKey } from '../../auth/sent-key.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { RejectedBodies } from '../../limits/rejected-bodies.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { NetworkFinder, Route } from '../../networks/find-network.ts';
import { openAccessLogEntry } from '../../observability/access-log.ts';
import type { Network } from '../../networks/network.ts';
import type { Holder } from '../../memory/holder.ts';
import type { MemoryBudget } from '../../memory/memory-budget.ts';
import type { Reservation } from '../../memory/reservation.ts';
import type { UnreadConnections } from '../../memory/unread-connections.ts';
import { Cancelled } from '../../upstreams/transport/cancellation.ts';
import type { CallTracing } from '../../observability/tracing.ts';
import { combineObservers } from '../../observability/combine-observers.ts';
import { compressResponse } from './compress-response.ts';
import { connectionOf, type Connection } from './connection.ts';
import { acceptsHtml } from './accepts.ts';
import type { TrustedProxies } from './trusted-proxies.ts';
import { readBody, RequestAborted } from './read-body.ts';
import { watchUnread } from './pipeline.ts';
import { createExplanation } from './observe-requests.ts';
import { writeResponse, writePreflight, type EncodedResponse } from './write-response.ts';

/** Memory of a request in progress besides its bytes: headers, context, promises, timers. */
export const REQUEST_BYTES = 4_096;
/** Memory of a decoded request per byte of its body, besides the body. */
export const DECODED_FACTOR = 2;

/** What requests over HTTP and WebSocket need. */
export interface RequestOptions {
  readonly networks: NetworkFinder<Network>;
  readonly authenticator: Authenticator;
  /** Whether headers may have the key, beside the path. */
  readonly acceptsKeyHeaders: boolean;
  readonly limiter: Limiter;
  readonly proxies: TrustedProxies;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Undefined: requests, upgrades and messages are not logged. */
  readonly accessLog: Log | undefined;
  readonly memory: MemoryBudget;
  readonly unread: UnreadConnections;
  readonly callTimeoutMs: number;
  readonly batch: BatchLimits;
  /** Undefined if no spans are exported. */
  readonly tracing: CallTracing | undefined;
}

export interface RpcRouteOptions extends RequestOptions {
  /** Whose share of the memory budget a request uses before its key is known. */
  readonly holderOf: (request: IncomingMessage) => Holder;
  readonly rejectedBodies: RejectedBodies;
  readonly nextRequestId: () => string;
  readonly bodyMaxBytes: number;
  /** Larger responses are gzipped for clients that accept it; undefined: none. */
  readonly compressOverBytes: number | undefined;
  /** Whether a browser that opens an RPC address gets the status page, from a later route. */
  readonly hasPages: boolean;
}

/**
 * Handles requests to `<base>/v3/<KEY>`. Runs before Express and does its own reading and writing: Express' parsers and
 * `res.json` cost 20 to 35 µs per call.
 */
export function rpcRoute(options: RpcRouteOptions) {
  /** @returns whether the request is for this route */
  return (request: IncomingMessage, response: ServerResponse, reservation: Reservation): boolean => {
    const connection = connectionOf(request.socket);
    const route = connection.route(options.networks, request, options.proxies.hostOf(request));
    if (route === undefined || (request.method === 'GET' && options.hasPages && acceptsHtml(request))) return false;
    void handleRequest(options, request, response, reservation, connection, route);
    return true;
  };
}

/** Never rejects. */
async function handleRequest(
  options: RpcRouteOptions,
  request: IncomingMessage,
  response: ServerResponse,
  reservation: Reservation,
  connection: Connection,
  { network, key: pathKey, isWebSocket }: Route<Network>,
): Promise<void> {
  const requestId = options.nextRequestId();
  const logEntry = openAccessLogEntry(options.accessLog, requestId);
  let share: KeyShare | undefined;
  network?.use.begin();
  try {
    if (network !== undefined) logEntry?.setNetwork(network.config.slug);
    // Before all checks: a page can read the error of its call, but not of a failed preflight.
    if (request.method === 'OPTIONS') {
      writePreflight(request, response, requestId);
      logEntry?.write('preflight');
      return;
    }
    if (network === undefined) throw new RpcError('unknown-network', options.networks.hint);
    if (isWebSocket) throw new RpcError('upgrade-required');
    if (request.method !== 'POST') throw new RpcError('verb-not-allowed');
    const address = options.proxies.addressOf(request);
    const key = options.acceptsKeyHeaders ? sentKey(pathKey, request.headers) : pathKey;
    const digest = key === pathKey ? connection.digestOf(key) : undefined;
    const authenticated = options.authenticator.authenticate(key, address, digest);
    const access = authenticated instanceof Promise ? await authenticated : authenticated;
    logEntry?.setKey(access.record.id);
    access.entry?.check({ network: network.config.slug, address, headers: request.headers });
    reservation.moveTo(access.share.holder);
    // Before the body, so that slow bodies count for their key.
    if (!access.share.requests.tryEnter(access.share)) {
      const rejected = await waitForSlot(options, request, reservation, connection, { network, access, logEntry });
      if (rejected !== undefined) {
        writeAccounted(response, requestId, rejected, reservation);
        logEntry?.write(rejected.reason);
        return;
      }
    }
    ({ share } = access);
    if (request.headers.expect?.toLowerCase() === '100-continue') response.writeContinue();
    const body = await readBody(request, options.bodyMaxBytes, reservation);
    // After the body: slow bodies count for their key, and not for all.
    reservation.begin(REQUEST_BYTES + body.length * DECODED_FACTOR);
    const deadline = performance.now() + options.callTimeoutMs;
    const { limiter, log } = options;
    const explanation = createExplanation(request, access, network);
    const tracing = options.tracing?.under(request.headers);
    const observers =
      explanation !== undefined && tracing !== undefined
        ? combineObservers(explanation, tracing)
        : (explanation ?? tracing);
    const { caller } = connection;
    const context = { network, access, limiter, requestId, deadline, caller, observers, log, logEntry, reservation };
    const rpcResponse = await handleBody(body, context, options.batch);
    const encoded =
      options.compressOverBytes === undefined || rpcResponse === undefined
        ? rpcResponse
        : await compressResponse(rpcResponse, request, response, options.compressOverBytes, reservation);
    writeAccounted(response, requestId, encoded, reservation, explanation?.toString());
    logEntry?.write();
  } catch (error) {
    if (error instanceof RequestAborted || error instanceof Cancelled) logEntry?.write('aborted');
    else {
      const rejection = rejectionOf(error, requestId, options.log);
      options.metrics.rejected(rejection.reason);
      if (!response.headersSent) writeResponse(response, requestId, bodyRejectionResponse(rejection));
      logEntry?.write(rejection.reason);
      reservation.setTo(0);
      request.resume();
      if (!request.complete)
        options.rejectedBodies.add(request, (reservation.holder ?? options.holderOf(request)).name);
    }
  } finally {
    share?.requests.leave(share);
    network?.use.end();
  }
}

/** Writes a response. Its bytes are accounted until the client has read them. */
function writeAccounted(
  response: ServerResponse,
  requestId: string,
  encoded: EncodedResponse | undefined,
  reservation: Reservation,
  explanation?: string,
): void {
  writeResponse(response, requestId, encoded, explanation);
  reservation.setTo(REQUEST_BYTES + (encoded?.body.length ?? 0));
  watchUnread(response, reservation);
}

type RejectionContext = Parameters<typeof rejectBody>[2];

/**
 * Waits until the key has fewer requests in flight.
 * @returns undefined if the request has its slot, else the response that rejects it
 * @throws RpcError if the body has not arrived, so that its ids are unknown; Cancelled
 */
async function waitForSlot(
  { bodyMaxBytes, batch }: RpcRouteOptions,
  request: IncomingMessage,
  reservation: Reservation,
  { caller }: Connection,
  context: RejectionContext,
): Promise<(EncodedResponse & { readonly reason: Reason }) | undefined> {
  const { share } = context.access;
  try {
    await share.requests.wait(share, Infinity, caller);
    return undefined;
  } catch (rejection) {
    if (!(rejection instanceof RpcError) || !request.complete) throw rejection;
    const body = await readBody(request, bodyMaxBytes, reservation);
    const { reason } = rejection;
    const rejected = rejectBody(body, rejection, context, batch) ?? bodyRejectionResponse(rejection);
    return { ...rejected, reason };
  }
}
