import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Reservation } from '../../memory/reservation.ts';
import { connectionOf } from './client-connection.ts';
import type { RpcRouteOptions } from './request-options.ts';
import { handleRpcRequest } from './rpc-request.ts';

/**
 * Handles requests to `<base>/v3/<KEY>`, and those without a key to `<base>` and `<base>/v3`. Runs before the
 * Express app (`express-app.ts` has its cost), and does its own reading and writing.
 */
export function rpcRoute(options: RpcRouteOptions) {
  /** @returns whether the request is for this route */
  return (request: IncomingMessage, response: ServerResponse, reservation: Reservation): boolean => {
    const connection = connectionOf(request.socket);
    const target = connection.target(options.networks, request, options.proxies.hostOf(request));
    if (target === undefined) return false;
    const hasPage = request.method === 'GET' && (options.hasPages || target.network === undefined);
    if (hasPage && acceptsHtml(request)) return false;
    // Pages have the same address.
    if (target.isBase === true && request.method !== 'POST' && request.method !== 'OPTIONS') return false;
    void handleRpcRequest(options, request, response, reservation, connection, target);
    return true;
  };
}

/** Whether a browser loads the URL as a page. Scripts and programs do not accept text/html. */
export function acceptsHtml({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.accept?.includes('text/html') === true;
}

export function acceptsJson({ headers }: IncomingMessage): boolean {
  return headers.accept?.includes('application/json') === true;
}
