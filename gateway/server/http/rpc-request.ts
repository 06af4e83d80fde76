import type { IncomingMessage, ServerResponse } from 'node:http';
import { clock } from '../../clock/clock.ts';
import type { CallerShare } from '../../admission/key-share.ts';
import { originMatcher } from '../../auth/formats/origin-pattern.ts';
import { namesOrigin, type KeyAccess } from '../../auth/key-access.ts';
import { isKeyless, sentKey } from '../../auth/sent-key.ts';
import { chargeRejected } from '../../call/charge.ts';
import { handleBody, rejectBody } from '../../call/handle-body.ts';
import type { Network } from '../../call/network.ts';
import { openVerification, type BodyVerification } from '../../call/verification.ts';
import { countRejection } from '../../call/respond.ts';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import { RpcError, type Reason } from '../../jsonrpc/errors.ts';
import { rejectionOf } from '../../jsonrpc/rejection-of.ts';
import { bodyRejectionResponse, type RpcResponse } from '../../jsonrpc/response.ts';
import type { Reservation } from '../../memory/reservation.ts';
import type { ReplaceableConfig } from '../../network-files/network-config.ts';
import type { RequestTarget } from '../../networks/find-network.ts';
import { openAccessLogEntry, type AccessLogEntry } from '../../observability/access-log.ts';
import { openDecisionLog } from '../../observability/decision-log.ts';
import { sinksOf } from '../../observability/call-sink.ts';
import type { Explanation } from '../../observability/explanation.ts';
import { Cancelled } from '../../upstreams/transport/cancellation.ts';
import { acceptsGzip, compressResponse } from './compress-response.ts';
import type { ClientConnection } from './client-connection.ts';
import { readBody, RequestAborted } from './read-body.ts';
import { createExplanation, DECODED_FACTOR, REQUEST_BYTES, type RpcRouteOptions } from './request-options.ts';
import type { TrustedProxies } from './trusted-proxies.ts';
import { writeFlow } from './write-flow.ts';
import { writeAccounted, writePreflight, writeResponse } from './write-response.ts';

/** The event-loop time of smaller responses is not worth its account. */
const METERED_RESPONSE_BYTES = 16_384;

/** One request in progress. */
interface HttpRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly reservation: Reservation;
  readonly connection: ClientConnection;
  readonly target: RequestTarget<Network>;
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
  target: RequestTarget<Network>,
): Promise<void> {
  const { network } = target;
  const requestId = options.nextRequestId();
  const logEntry = openAccessLogEntry(options.accessLog, requestId);
  const http = { request, response, reservation, connection, target, requestId, logEntry };
  network?.use.begin();
  let access: KeyAccess | undefined;
  let share: CallerShare | undefined;
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
    const served = checkTarget(options, http);
    const address = options.proxies.addressOf(request);
    const authenticated = authenticate(options, http, address);
    const known = authenticated instanceof Promise ? await authenticated : authenticated;
    access = known;
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
    const body = await receiveBody(options, http);
    const owner = known.share.name;
    const turn = turnBudget.next(owner);
    if (turn !== undefined) await turn;
    const late = turnBudget.run(owner, () => respondToBody(options, http, known, served, body));
    if (late !== undefined) await late;
  } catch (error) {
    reason = reject(options, http, error, access);
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
  options: RpcRouteOptions,
  http: HttpRequest,
  { config }: Network,
): Promise<string | undefined> {
  const { origin, 'access-control-request-private-network': isPrivate } = http.request.headers;
  if (isPrivate !== 'true' || origin === undefined) return undefined;
  const { privateNetworkOrigins }: ReplaceableConfig = config;
  if (originMatcher(privateNetworkOrigins)(origin)) return origin;
  try {
    const access = await authenticate(options, http, options.proxies.addressOf(http.request));
    return namesOrigin(access, origin) ? origin : undefined;
  } catch {
    return undefined;
  }
}

/** @throws RpcError */
function checkTarget({ networks }: RpcRouteOptions, { request, target }: HttpRequest): Network {
  if (target.network === undefined) throw new RpcError('unknown-network', networks.hint);
  if (target.isWebSocket) throw new RpcError('upgrade-required');
  if (request.method !== 'POST') throw new RpcError('verb-not-allowed');
  return target.network;
}

/** @throws RpcError (or rejects with it) */
function authenticate(
  { keyPlaces, authenticator }: RpcRouteOptions,
  { request, target, connection }: HttpRequest,
  address: string,
): KeyAccess | Promise<KeyAccess> {
  const key = keyPlaces === undefined ? target.key : sentKey(target.key, request.headers, keyPlaces);
  const publicAccess = target.network?.publicAccess;
  if (publicAccess !== undefined && isKeyless(key, request.headers)) return publicAccess.accessOf(address);
  return authenticator.authenticate(key, address, key === target.key ? connection.digestOf(key) : undefined, false);
}

/**
 * Waits until the key has fewer requests in flight.
 * @returns undefined if the request has its slot, else the reason why it is rejected, with a response
 * @throws RpcError if the body has not arrived, so that its ids are unknown; Cancelled (rejects with it)
 */
async function rejectedAfterWait(
  { bodyMaxBytes, limiter, batch, recentCalls }: RpcRouteOptions,
  { request, response, reservation, connection, requestId, logEntry }: HttpRequest,
  access: KeyAccess,
  network: Network,
): Promise<Reason | undefined> {
  const { share } = access;
  try {
    await share.requests.wait(share, Infinity, connection.caller);
    return undefined;
  } catch (rejection) {
    if (!(rejection instanceof RpcError)) throw rejection;
    const context = { network, access, limiter, logEntry };
    if (!request.complete) {
      chargeRejected(context);
      throw rejection;
    }
    const body = await readBody(request, bodyMaxBytes, reservation);
    recentCalls?.addRejection({ requestId, network: network.config.slug, key: access.record }, rejection);
    const rejected = rejectBody(body, rejection, context, batch) ?? bodyRejectionResponse(rejection);
    writeAccounted(response, requestId, rejected, reservation);
    return rejection.reason;
  }
}

/** @throws RpcError, RequestAborted (rejects with it) */
function receiveBody(
  { bodyMaxBytes }: RpcRouteOptions,
  { request, response, reservation }: HttpRequest,
): Promise<Buffer> {
  if (request.headers.expect?.toLowerCase() === '100-continue') response.writeContinue();
  return readBody(request, bodyMaxBytes, reservation);
}

/**
 * Handles the calls of a body and writes the response.
 * @returns undefined: it is written, because it needs no upstream and is not compressed
 * @throws RpcError, Cancelled (or rejects with it)
 */
function respondToBody(
  options: RpcRouteOptions,
  http: HttpRequest,
  access: KeyAccess,
  network: Network,
  body: Buffer,
): Promise<void> | undefined {
  const { request, response, reservation, connection, requestId, logEntry } = http;
  const { callTimeoutMs, limiter, log, batch, proxies, tracing, compressOverBytes, recentCalls } = options;
  // After the body: slow bodies count for their key, and not for all.
  reservation.begin(REQUEST_BYTES + body.length * DECODED_FACTOR);
  const explanation = access.capabilities.explain ? createExplanation(request, network) : undefined;
  const context = {
    network,
    access,
    limiter,
    requestId,
    deadline: clock.now() + callTimeoutMs,
    caller: connection.caller,
    sinks: sinksOf(
      explanation,
      tracing?.under(request.headers),
      logEntry,
      recentCalls?.of({ requestId, network: network.config.slug, key: access.record }),
      openDecisionLog(log, requestId, access.record.id),
    ),
    log,
    logEntry,
    reservation,
    address: new RequestedAddress(proxies, request),
    canFlow: canFlow(request, compressOverBytes, explanation),
    verification: openVerification(network, access, request.headers['x-gatehouse-verify']),
  };
  const begun = handleBody(body, context, batch);
  if (begun instanceof Promise || compressOverBytes !== undefined)
    return respondToBodyLater(options, http, access, begun, explanation, context.verification);
  writeAccounted(response, requestId, begun, reservation, explanation?.toString(), context.verification?.proof);
  return undefined;
}

/** Whether a result may be passed on while it arrives: in chunks, not compressed, and without an explanation of its whole way. */
function canFlow(
  request: IncomingMessage,
  compressOverBytes: number | undefined,
  explanation: Explanation | undefined,
): boolean {
  const hasChunks = request.httpVersionMajor === 1 && request.httpVersionMinor === 1;
  return hasChunks && explanation === undefined && (compressOverBytes === undefined || !acceptsGzip(request));
}

/** @throws RpcError, Cancelled (rejects with it) */
async function respondToBodyLater(
  { compressOverBytes }: RpcRouteOptions,
  { request, response, reservation, connection, requestId }: HttpRequest,
  access: KeyAccess,
  begun: Promise<RpcResponse | undefined> | RpcResponse | undefined,
  explanation: Explanation | undefined,
  verification: BodyVerification | undefined,
): Promise<void> {
  const rpcResponse = await begun;
  const encoded =
    compressOverBytes === undefined || rpcResponse === undefined
      ? rpcResponse
      : await compressResponse(rpcResponse, request, response, compressOverBytes, reservation);
  const write = (): void => {
    writeAccounted(response, requestId, encoded, reservation, explanation?.toString(), verification?.proof);
  };
  const owner = access.share.name;
  if ((encoded?.body.length ?? 0) > METERED_RESPONSE_BYTES) turnBudget.run(owner, write);
  else write();
  if (encoded?.result === undefined) return;
  const watchUnread = (): void => {
    connection.watchUnread(response, reservation);
  };
  await writeFlow(response, encoded.result, connection.caller, owner, watchUnread);
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
  { log, metrics, rejectedBodies, holderOf, recentCalls }: RpcRouteOptions,
  { request, response, reservation, requestId, target, logEntry }: HttpRequest,
  error: unknown,
  access: KeyAccess | undefined,
): string {
  if (error instanceof RequestAborted || error instanceof Cancelled) return 'aborted';
  const rejection = rejectionOf(error, requestId, log);
  metrics.rejected(rejection.reason);
  logEntry?.rejectedBy(rejection);
  const network = target.network?.config.slug;
  recentCalls?.addRejection({ requestId, network, key: access?.record }, rejection);
  if (access !== undefined && target.network !== undefined) countRejection(rejection, target.network, access);
  if (!response.headersSent) writeResponse(response, requestId, bodyRejectionResponse(rejection));
  reservation.setTo(0);
  request.resume();
  if (!request.complete) rejectedBodies.add(request, (reservation.holder ?? holderOf(request)).name);
  return rejection.reason;
}
