import type { ServerResponse } from 'node:http';
import express, { Router, type Request, type Response } from 'express';
import { RpcError } from '../../jsonrpc/errors.ts';
import { rejectionOf } from '../../jsonrpc/rejection-of.ts';
import { rejectionResponse } from '../../jsonrpc/response.ts';
import type { IncomingRequest, RequestHandler } from './client-connection.ts';
import type { Layer } from './layer.ts';
import type { RpcRouteOptions } from './request-options.ts';
import { answerPreflight, authenticate, call, checkTarget, endCall, findNetwork, rejectCall } from './rpc-request.ts';
import { KEEP_ALIVE, writeResponse } from './write-response.ts';

export interface PortRouterOptions extends RpcRouteOptions {
  /** Whether the port serves calls. The ops port does not. */
  readonly hasCalls: boolean;
  /** Metrics, probes and the admin API. */
  readonly ops: Router | undefined;
  /** Status page and method reference. */
  readonly pages: Router;
}

/** Error text for an address that the ops port does not have. */
const OPS_HINT =
  'not an address of the ops port: calls are served at PORT; the admin API and its pages need ADMIN_TOKEN, the pages Accept: text/html';

/** Any path: those of base URLs are, and belong to a host. */
const ANY = /^/;

/**
 * Builds the router of a port, which each request passes from top to bottom. Calls do not reach the `express()` app: it replaces
 * the prototypes of request and response, which costs 80 to 137 µs of CPU, where a bare router costs 1 to 6, and this one 7 to 13
 * (2026-11-29, Node 20).
 */
export function portRouter(options: PortRouterOptions): RequestHandler {
  const router = Router();
  if (options.hasCalls) {
    // `findNetwork` skips the route of what is no call. Calls are first: each route that is tried costs them time.
    const find = findNetwork(options);
    const check = checkTarget(options);
    const end = [rejectCall(options), endCall];
    router.post(ANY, find, check, authenticate(options), call(options), end);
    router.options(ANY, find, answerPreflight(options), end);
    router.all(ANY, find, check, end);
  }
  router.use(countBytes(options));
  const app = express().disable('x-powered-by').disable('etag');
  if (options.ops !== undefined) app.use(options.ops);
  app.use(admitPage(options), options.pages);
  router.use(app);
  const { networks, proxies, hasCalls } = options;
  router.use((request) => {
    const hint = hasCalls ? networks.hintFor(request.originalUrl, proxies.hostOf(request)) : OPS_HINT;
    throw new RpcError('unknown-network', hint);
  });
  const reject = rejectOther(options);
  router.use(reject);
  return (request, response) => {
    request.id = options.nextRequestId();
    router(request as Request, response as Response, (error?: unknown) => {
      // No layer has matched, because the URL is none; or the last one has failed.
      reject(error ?? new RpcError('bad-http'), request, response);
    });
  };
}

/** Counts the unread bytes of a response, and what arrives of its request after it. */
function countBytes({ hasCalls, accountOf, rejectedBodies }: PortRouterOptions): Layer {
  return (request, response, next) => {
    const { id, reservation } = request;
    const account = accountOf(request);
    reservation.moveTo(account);
    const accountUnread = (): void => {
      reservation.setTo(response.writableLength);
      request.clientConnection.watchUnread(response, reservation);
    };
    afterEnd(response, () => {
      accountUnread();
      rejectedBodies.add(request, account.name);
    });
    response.setHeader('X-Request-Id', id);
    if (response.shouldKeepAlive) response.setHeader('Keep-Alive', KEEP_ALIVE);
    next();
    // Only the admin API reads bodies, on OPS_PORT. Otherwise chunks would be buffered until the response is read.
    if (hasCalls) request.resume();
    // Also of a response that is written in parts.
    accountUnread();
  };
}

/** Pages need no key, and are large. Probes are never rejected. */
function admitPage({ accountOf, memory }: PortRouterOptions): Layer {
  return (request, _response, next) => {
    const account = accountOf(request);
    memory.guard?.admit(account);
    memory.take(account, 0);
    next();
  };
}

/** Rejects a request that is no call. */
function rejectOther({ accountOf, rejectedBodies, log }: PortRouterOptions) {
  // Express recognises an error handler by its four parameters.
  return (error: unknown, request: IncomingRequest, response: ServerResponse, _next?: unknown): void => {
    // Express throws errors with a status for paths that it cannot decode.
    const { status } = error as { status?: unknown };
    const isClientError = !(error instanceof RpcError) && typeof status === 'number' && status < 500;
    const rejection = isClientError ? new RpcError('bad-http') : rejectionOf(error, request.id, log);
    if (response.headersSent) request.socket.destroy();
    else writeResponse(response, request.id, rejectionResponse('null', rejection));
    // The response ends only after its request.
    rejectedBodies.add(request, accountOf(request).name);
  };
}

/** Calls `then` each time after `end`: many responses are written later, and an event follows only when all is sent. */
function afterEnd(response: ServerResponse, then: () => void): void {
  const end = response.end.bind(response) as (...parts: unknown[]) => ServerResponse;
  response.end = (...parts: unknown[]) => {
    end(...parts);
    then();
    return response;
  };
}
