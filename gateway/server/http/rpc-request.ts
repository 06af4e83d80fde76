import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NextFunction } from 'express';
import { clock } from '../../clock/clock.ts';
import { originMatcher } from '../../auth/formats/origin-pattern.ts';
import { namesOrigin, type KeyAccess } from '../../auth/key-access.ts';
import { chargeRejected } from '../../call/charge.ts';
import { handleBody, rejectBody } from '../../call/handle-body.ts';
import { openVerification } from '../../call/verification.ts';
import { gatehouse } from '../../admission/account.ts';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import { bodyRejectionResponse } from '../../jsonrpc/response.ts';
import type { ReplaceableConfig } from '../../network-files/network-config.ts';
import { openAccessLogEntry } from '../../observability/access-log.ts';
import { openDecisionLog } from '../../observability/decision-log.ts';
import { printersOf } from '../../observability/call-record.ts';
import type { Explanation } from '../../observability/explanation.ts';
import { Cancelled } from '../../upstreams/transport/cancellation.ts';
import { acceptsGzip, compressResponse } from './compress-response.ts';
import type { IncomingRequest } from './client-connection.ts';
import { accessOf, checkAccess, recordRejection } from './find-caller.ts';
import { acceptsHtml, type Layer } from './layer.ts';
import { readBody, RequestAborted } from './read-body.ts';
import { createExplanation, DECODED_FACTOR, REQUEST_BYTES, type RpcRouteOptions } from './request-options.ts';
import { writeAccounted, writeFlow, writePreflight, writeResponse } from './write-response.ts';

/** The event-loop time of smaller responses is not worth its account. */
const METERED_RESPONSE_BYTES = 16_384;

/** Finds the network of a call. The layers after it, up to `endCall`, are skipped by what is no call. */
export function findNetwork(options: RpcRouteOptions): Layer {
  return (request, _response, next) => {
    const target = request.clientConnection.target(options, request);
    if (target === undefined || (request.method !== 'POST' && isForPages(options, request, target))) {
      next('route');
      return;
    }
    const { network } = (request.target = target);
    request.logEntry = openAccessLogEntry(options.accessLog, request.id);
    network?.use.begin();
    if (network !== undefined) request.logEntry?.setNetwork(network.config.slug);
    next();
  };
}

/** Pages have the same addresses. */
function isForPages(options: RpcRouteOptions, request: IncomingRequest, target: IncomingRequest['target']): boolean {
  if (target.isBase === true && request.method !== 'OPTIONS') return true;
  return (options.hasPages || target.network === undefined) && acceptsHtml(request);
}

/** Answers a preflight before all checks: a page can read the error of its call, but not of a failed preflight. */
export function answerPreflight(options: RpcRouteOptions): Layer {
  return async (request, response, next) => {
    writePreflight(request, response, request.id, await privateNetworkOrigin(options, request));
    request.reason = 'preflight';
    // So that the chunks of a body are counted.
    request.resume();
    next();
  };
}

/**
 * The origin of a preflight, if it may call a gateway in its private network. Otherwise any page could call a gateway that only
 * a private network reaches: https://wicg.github.io/private-network-access.
 */
async function privateNetworkOrigin(options: RpcRouteOptions, request: IncomingRequest): Promise<string | undefined> {
  const { origin, 'access-control-request-private-network': isPrivate } = request.headers;
  const { network } = request.target;
  if (isPrivate !== 'true' || origin === undefined || network === undefined) return undefined;
  const { privateNetworkOrigins }: ReplaceableConfig = network.config;
  if (originMatcher(privateNetworkOrigins)(origin)) return origin;
  try {
    return namesOrigin(await accessOf(options, request, false), origin) ? origin : undefined;
  } catch {
    return undefined;
  }
}

export function checkTarget({ networks }: RpcRouteOptions): Layer {
  return (request, _response, next) => {
    const { network, isWebSocket } = request.target;
    if (network === undefined) throw new RpcError('unknown-network', networks.hint);
    if (isWebSocket) throw new RpcError('upgrade-required');
    if (request.method !== 'POST') throw new RpcError('verb-not-allowed');
    request.network = network;
    next();
  };
}

export function authenticate(options: RpcRouteOptions): Layer {
  return (request, _response, next) => {
    const proceed = (access: KeyAccess): void => {
      checkAccess(options, request, access);
      next();
    };
    const found = accessOf(options, request);
    if (found instanceof Promise) return found.then(proceed);
    proceed(found);
    return undefined;
  };
}

/** Waits for a slot of the key, reads the body, handles it and writes the response. */
export function call(options: RpcRouteOptions): Layer {
  return async (request, response, next) => {
    const { account } = request.access;
    options.memory.guard?.admit(account);
    request.reservation.moveTo(account);
    // Before the body, so that slow bodies count for their key.
    if (account.requests.tryEnter(account) || (await waitForSlot(options, request, response))) {
      // No layers of their own: `finally` leaves the slot, whatever fails, when the response is written and before it is read.
      try {
        if (request.headers.expect?.toLowerCase() === '100-continue') response.writeContinue();
        const body = await readBody(request, options.bodyMaxBytes, request.reservation);
        const turn = turnBudget.next(account.payer.name);
        if (turn !== undefined) await turn;
        await turnBudget.run(account.payer.name, () => respondToBody(options, request, response, body));
      } finally {
        account.requests.leave(account);
      }
    }
    next();
  };
}

/**
 * Waits until the key has fewer requests in flight.
 * @returns whether the request has its slot; if not, it has its response
 * @throws RpcError if the body has not arrived, so that its ids are unknown; Cancelled (rejects with it)
 */
async function waitForSlot(
  { bodyMaxBytes, limiter, batch, recentCalls }: RpcRouteOptions,
  request: IncomingRequest,
  response: ServerResponse,
): Promise<boolean> {
  const { id: requestId, reservation, network, access, logEntry } = request;
  const { account } = access;
  try {
    await account.requests.wait(account, Infinity, request.clientConnection.caller);
    return true;
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
    writeAccounted(request, response, rejected);
    request.reason = rejection.reason;
    return false;
  }
}

/** Handles the calls of a body and writes the response. @throws RpcError, Cancelled (rejects with it) */
async function respondToBody(
  options: RpcRouteOptions,
  request: IncomingRequest,
  response: ServerResponse,
  body: Buffer,
): Promise<void> {
  const { id: requestId, reservation, network, access, logEntry } = request;
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
    caller: request.clientConnection.caller,
    printers: printersOf(
      explanation,
      tracing?.under(request.headers),
      logEntry,
      recentCalls?.of({ requestId, network: network.config.slug, key: access.record }),
      openDecisionLog(log, requestId, access.record.id),
    ),
    log,
    logEntry,
    reservation,
    originOf: () => proxies.originOf(request),
    canFlow: canFlow(request, compressOverBytes, explanation),
    headers: request.headers,
    verification: openVerification(network, access, request.headers['x-gatehouse-verify']),
  };
  const begun = handleBody(body, context, batch);
  const rpcResponse = begun instanceof Promise ? await begun : begun;
  const encoded =
    compressOverBytes === undefined || rpcResponse === undefined
      ? rpcResponse
      : await compressResponse(rpcResponse, request, response, compressOverBytes, reservation);
  const write = (): void => {
    writeAccounted(request, response, encoded, explanation?.toString(), context.verification?.proof);
  };
  const owner = access.account.payer.name;
  // What is written without a wait is a part of the body's turn.
  const hasWaited = begun instanceof Promise || compressOverBytes !== undefined;
  if (hasWaited && (encoded?.body.length ?? 0) > METERED_RESPONSE_BYTES) turnBudget.run(owner, write);
  else write();
  if (encoded?.result === undefined) return;
  const connection = request.clientConnection;
  await writeFlow(response, encoded.result, connection.caller, owner, () => {
    connection.watchUnread(response, reservation);
  });
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

/** Rejects a call as a whole, if its client is still there. */
export function rejectCall(options: RpcRouteOptions) {
  // Express recognises an error handler by its four parameters.
  return (error: unknown, request: IncomingRequest, response: ServerResponse, next: NextFunction): void => {
    request.reason = 'aborted';
    try {
      if (error instanceof RequestAborted || error instanceof Cancelled) return;
      const { id, reservation } = request;
      const rejection = recordRejection(options, request, error);
      request.reason = rejection.reason;
      if (!response.headersSent) writeResponse(response, id, bodyRejectionResponse(rejection));
      reservation.setTo(0);
      request.resume();
      const account = reservation.account === gatehouse ? options.accountOf(request) : reservation.account;
      if (!request.complete) options.rejectedBodies.add(request, account.name);
    } finally {
      next();
    }
  };
}

/** Ends what `findNetwork` has begun. */
export const endCall: Layer = ({ target, logEntry, reason }) => {
  logEntry?.write(reason);
  target.network?.use.end();
};
