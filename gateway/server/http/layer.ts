import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NextFunction } from 'express';
import type { IncomingRequest } from './client-connection.ts';

/** A layer of the router: it responds, throws, or calls `next`. */
export type Layer = (request: IncomingRequest, response: ServerResponse, next: NextFunction) => void | Promise<void>;

/** Whether a browser loads the URL as a page. Scripts and programs do not accept text/html. */
export function acceptsHtml({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.accept?.includes('text/html') === true;
}

export function acceptsJson({ headers }: IncomingMessage): boolean {
  return headers.accept?.includes('application/json') === true;
}
