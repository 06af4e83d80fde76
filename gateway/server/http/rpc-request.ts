import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KeyShare } from '../../admission/key-share.ts';
import { originMatcher } from '../../auth/formats/origin-pattern.ts';
import { namesOrigin, type KeyAccess } from '../../auth/key-access.ts';
import { sentKey } from '../../auth/sent-key.ts';
import { handleBody, rejectBody } from '../../call/handle-body.ts';
import type { Network } from '../../call/network.ts';
import type { RejectionContext } from '../../call/respond.ts';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import { RpcError, type Reason } from '../../jsonrpc/errors.ts';
import { rejectionOf } from '../../jsonrpc/rejection-of.ts';
import { bodyRejectionResponse, type RpcResponse } from '../../jsonrpc/response.ts';
import type { Reservation } from '../../memory/reservation.ts';
import type { ReplaceableConfig } from '../../network-files/network-config.ts';
import type { Route } from '../../networks/find-network.ts';
import { openAccessLogEntry, type AccessLogEntry } from '../../observability/access-log.ts';
import { sinksOf } from '../../observability/call-sink.ts';
import type { Explanation } from '../../observability/explanation.ts';
import { Cancelled } from '../../upstreams/transport/cancellation.ts';
import { compressResponse } from './compress-response.ts';
import type { ClientConnection } from './client-connection.ts';
import { readBody, RequestAborted } from './read-body.ts';
import { createExplanation, DECODED_FACTOR, REQUEST_BYTES, type RpcRouteOptions } from './request-options.ts';
import type { TrustedProxies } from './trusted-proxies.ts';
import { writeAccounted, writePreflight, writeResponse } from './write-response.ts';

/** One request in progress. */
interface HttpRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly reservation: Reservation;
  readonly connection: ClientConnection;
  readonly route: Route<Network>;
  readonly requestId: string;
  readonly logEntry: AccessLogEntry | undefined;
}

/** Handles one request, from its head to its response. Never rejects: the work of other callers may follow. */
export async function handleRpcRequest(
  options: RpcRouteOptions,
  request: IncomingMessage,
  response: ServerResponse,
  reservation: Reservation,
  connection: ClientConnection,
  route: Route<Network>,
): Promise<void> {
  const { network } = route;
  const requestId = options.nextRequestId();
  const logEntry = openAccessLogEntry(options.accessLog, requestId);
  const http = { request, response, reservation, connection, route, requestId, logEntry };
  network?.use.begin();
  let share: KeyShare | undefined;
  let reason: string | undefined;
  try {
    if (network !== undefined) logEntry?.setNetwork(network.config.slug);
    // Before all checks: a page can read the error of its call, but not of a failed preflight.
    if (request.method === 'OPTIONS') {
      const origin = network === undefined ? undefined : await privateNetworkOrigin(options, http, network);
      writePreflight(request, response, requestId, origin);
      reason = 'preflight';
      return;
    }
    const served = checkRoute(options, http);
    const address = options.proxies.addressOf(request);
    const authenticated = authenticate(options, http, address);
    const access = authenticated instanceof Promise ? await authenticated : authenticated;
    logEntry?.setKey(access.record.id);
    access.entry?.check({ network: served.config.slug, address, headers: request.headers });
    options.memory.admit(access.share.holder);
    reservation.moveTo(access.share.holder);
    // Before the body, so that slow bodies count for their key.
    if (!access.share.requests.tryEnter(access.share)) {
      reason = await rejectedAfterWait(options, http, access, served);
      if (reason !== undefined) return;
    }
    ({ share } = access);
    await respondToBody(options, http, access, served);
  } catch (error) {
    reason = reject(options, http, error);
  } finally {
    logEntry?.write(reason);
    share?.requests.leave(share);
    network?.use.end();
  }
}

/**
 * The origin of a preflight, if it may call a gateway in its private network. Otherwise any page could call a gateway that only
 * a private network reaches: https://wicg.github.io/private-network-access.
 */
async function privateNetworkOrigin(
  { authenticator, proxies }: RpcRouteOptions,
  { request, route }: HttpRequest,
  { config }: Network,
): Promise<string | undefined> {
  const { origin, 'access-control-request-private-network': isPrivate } = request.headers;
  if (isPrivate !== 'true' || origin === undefined) return undefined;
  const { privateNetworkOrigins }: ReplaceableConfig = config;
  if (originMatcher(privateNetworkOrigins)(origin)) return origin;
  try {
    const access = await authenticator.authenticate(route.key, proxies.addressOf(request));
    return namesOrigin(access, origin) ? origin : undefined;
  } catch {
    return undefined;
  }
}

/** @throws RpcError */
function checkRoute({ networks }: RpcRouteOptions, { request, route }: HttpRequest): Network {
  if (route.network === undefined) throw new RpcError('unknown-network', networks.hint);
  if (route.isWebSocket) throw new RpcError('upgrade-required');
  if (request.method !== 'POST') throw new RpcError('verb-not-allowed');
  return route.network;
}

/** @throws RpcError (or rejects with it) */
function authenticate(
  { keyPlaces, authenticator }: RpcRouteOptions,
  { request, route, connection }: HttpRequest,
  address: string,
): KeyAccess | Promise<KeyAccess> {
  const key = keyPlaces === undefined ? route.key : sentKey(route.key, request.headers, keyPlaces);
  return authenticator.authenticate(key, address, key === route.key ? connection.digestOf(key) : undefined, false);
}

/**
 * Waits until the key has fewer requests in flight.
 * @returns undefined if the request has its slot, else the reason why it is rejected, with a response
 * @throws RpcError if the body has not arrived, so that its ids are unknown; Cancelled (rejects with it)
 */
async function rejectedAfterWait(
  { bodyMaxBytes, batch }: RpcRouteOptions,
  { request, response, reservation, connection, requestId, logEntry }: HttpRequest,
  access: KeyAccess,
  network: Network,
): Promise<Reason | undefined> {
  const { share } = access;
  try {
    await share.requests.wait(share, Infinity, connection.caller);
    return undefined;
  } catch (rejection) {
    if (!(rejection instanceof RpcError) || !request.complete) throw rejection;
    const body = await readBody(request, bodyMaxBytes, reservation);
    const context: RejectionContext = { network, access, logEntry };
    const rejected = rejectBody(body, rejection, context, batch) ?? bodyRejectionResponse(rejection);
    writeAccounted(response, requestId, rejected, reservation);
    return rejection.reason;
  }
}

/** Reads the body, handles its calls and writes the response. @throws RpcError, RequestAborted, Cancelled (rejects with it) */
async function respondToBody(
  options: RpcRouteOptions,
  { request, response, reservation, connection, requestId, logEntry }: HttpRequest,
  access: KeyAccess,
  network: Network,
): Promise<void> {
  const { bodyMaxBytes, callTimeoutMs, limiter, log, batch, compressOverBytes } = options;
  if (request.headers.expect?.toLowerCase() === '100-continue') response.writeContinue();
  const body = await readBody(request, bodyMaxBytes, reservation);
  const owner = access.share.holder.name;
  const turn = turnBudget.next(owner);
  if (turn !== undefined) await turn;
  let explanation: Explanation | undefined;
  const write = (encoded: RpcResponse | undefined): void => {
    writeAccounted(response, requestId, encoded, reservation, explanation?.toString());
  };
  const handled = turnBudget.run(owner, () => {
    // After the body: slow bodies count for their key, and not for all.
    reservation.begin(REQUEST_BYTES + body.length * DECODED_FACTOR);
    if (access.capabilities.explain) explanation = createExplanation(request, network);
    const sinks = sinksOf(explanation, options.tracing?.under(request.headers), logEntry);
    const deadline = performance.now() + callTimeoutMs;
    const { caller } = connection;
    const address = new RequestedAddress(options.proxies, request);
    const context = {
      network,
      access,
      limiter,
      requestId,
      deadline,
      caller,
      sinks,
      log,
      logEntry,
      reservation,
      address,
    };
    const begun = handleBody(body, context, batch);
    if (begun instanceof Promise || compressOverBytes !== undefined) return { begun };
    write(begun);
    return undefined;
  });
  if (handled === undefined) return;
  const { begun } = handled;
  const rpcResponse = begun instanceof Promise ? await begun : begun;
  if (compressOverBytes === undefined || rpcResponse === undefined) write(rpcResponse);
  else write(await compressResponse(rpcResponse, request, response, compressOverBytes, reservation));
}

/** The address of this gateway that a client requested, which few calls need. */
class RequestedAddress {
  readonly #proxies: TrustedProxies;
  readonly #request: IncomingMessage;

  constructor(proxies: TrustedProxies, request: IncomingMessage) {
    this.#proxies = proxies;
    this.#request = request;
  }

  get origin(): string {
    return this.#proxies.originOf(this.#request);
  }
}

/** Responds to a request that is rejected as a whole, if its client is still there. @returns why, for the access log */
function reject(
  { log, metrics, rejectedBodies, holderOf }: RpcRouteOptions,
  { request, response, reservation, requestId }: HttpRequest,
  error: unknown,
): string {
  if (error instanceof RequestAborted || error instanceof Cancelled) return 'aborted';
  const rejection = rejectionOf(error, requestId, log);
  metrics.rejected(rejection.reason);
  if (!response.headersSent) writeResponse(response, requestId, bodyRejectionResponse(rejection));
  reservation.setTo(0);
  request.resume();
  if (!request.complete) rejectedBodies.add(request, (reservation.holder ?? holderOf(request)).name);
  return rejection.reason;
}
