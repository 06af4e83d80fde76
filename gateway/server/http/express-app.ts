import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type NextFunction, type Request, type Response, type Router } from 'express';
import type { Log } from '../../config/log.ts';
import { rejectionResponse } from '../../jsonrpc/response.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import { rejectionOf } from '../../jsonrpc/rejection-of.ts';
import type { RejectedBodies } from '../../limits/rejected-bodies.ts';
import type { Holder } from '../../memory/holder.ts';
import type { MemoryBudget } from '../../memory/memory-budget.ts';
import type { Reservation } from '../../memory/reservation.ts';
import { connectionOf, type RequestHandler } from './client-connection.ts';
import { acceptsHtml } from './rpc-route.ts';
import { afterEnd } from './node-internals.ts';
import { KEEP_ALIVE, writeResponse } from './write-response.ts';

export interface ExpressAppOptions {
  /** Runs before Express. Returns whether it handles the request. */
  readonly rpc?: (request: IncomingMessage, response: ServerResponse, reservation: Reservation) => boolean;
  readonly ops?: Router;
  /** Status page and method reference. */
  readonly pages?: Router | undefined;
  /** Sends a page to browsers that open an address without a network or page. */
  readonly sendWrongAddress: (response: ServerResponse) => void;
  readonly nextRequestId: () => string;
  readonly networks: { readonly hint: string };
  readonly holderOf: (request: IncomingMessage) => Holder;
  readonly rejectedBodies: RejectedBodies;
  readonly memory: MemoryBudget;
  readonly log: Log;
}

/**
 * Builds the Express app of a port. Calls do not pass it: an app replaces the prototypes of request and response, which costs 80
 * to 137 µs of CPU a request. A router alone costs 1 to 6 (2026-11-29, Node 20, four rounds, 16 connections).
 */
export function expressApp({
  rpc,
  ops,
  pages,
  sendWrongAddress,
  nextRequestId,
  networks,
  holderOf,
  rejectedBodies,
  memory,
  log,
}: ExpressAppOptions): RequestHandler {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  if (ops !== undefined) app.use(withRequestId(nextRequestId), ops);
  // Pages need no key, and are large. Probes are never rejected.
  const admitPage = (request: Request, _response: Response, next: NextFunction): void => {
    const holder = holderOf(request);
    memory.admit(holder);
    memory.take(holder, 0);
    next();
  };
  if (pages !== undefined) app.use(admitPage, withRequestId(nextRequestId), pages);
  const reject = (request: Request, response: Response, requestId: string, rejection: RpcError): void => {
    writeResponse(response, requestId, rejectionResponse('null', rejection));
    // The response ends only after its request.
    rejectedBodies.add(request, holderOf(request).name);
  };
  app.use((request, response) => {
    if (acceptsHtml(request)) {
      response.setHeader('X-Request-Id', nextRequestId());
      sendWrongAddress(response);
      return;
    }
    reject(request, response, nextRequestId(), new RpcError('unknown-network', networks.hint));
  });
  // Express recognises an error handler by its four parameters.
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    const requestId = nextRequestId();
    // Express throws errors with a status for paths that it cannot decode.
    const status = (error as { status?: unknown }).status;
    const isClientError = !(error instanceof RpcError) && typeof status === 'number' && status < 500;
    const rejection = isClientError ? new RpcError('bad-http') : rejectionOf(error, requestId, log);
    reject(request, response, requestId, rejection);
  });
  return (request, response, reservation) => {
    if (rpc?.(request, response, reservation) === true) return;
    const holder = holderOf(request);
    reservation.moveTo(holder);
    const account = (): void => {
      reservation.setTo(response.writableLength);
      connectionOf(request.socket).watchUnread(response, reservation);
    };
    afterEnd(response, () => {
      account();
      rejectedBodies.add(request, holder.name);
    });
    if (response.shouldKeepAlive) response.setHeader('Keep-Alive', KEEP_ALIVE);
    app(request, response);
    // Only the admin API reads bodies, on OPS_PORT. Otherwise chunks would be buffered until the response is read.
    if (rpc !== undefined) request.resume();
    // Also of a response that is written in parts.
    account();
  };
}

/** For routes whose responses Express writes. */
function withRequestId(nextRequestId: () => string) {
  return (_request: Request, response: Response, next: NextFunction): void => {
    response.setHeader('X-Request-Id', nextRequestId());
    next();
  };
}
