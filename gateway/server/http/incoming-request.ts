import { IncomingMessage, type ServerResponse } from 'node:http';
import type { NextFunction } from 'express';
import type { KeyAccess } from '../../auth/key-access.ts';
import type { Network } from '../../call/network.ts';
import type { Reservation } from '../../memory/reservation.ts';
import type { RequestTarget } from '../../networks/find-network.ts';
import type { AccessLogEntry } from '../../observability/access-log.ts';

/** A request or upgrade, with what is found out about it on its way. Each member is set before it is used. */
export class IncomingRequest extends IncomingMessage {
  id!: string;
  /** Its bytes; released when its response is sent or its connection closes. */
  reservation!: Reservation;
  target!: RequestTarget<Network>;
  network!: Network;
  access!: KeyAccess;
  logEntry: AccessLogEntry | undefined;
  /** Why it has no result, for the access log. */
  reason: string | undefined;
}

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- where Express declares its requests
  namespace Express {
    // eslint-disable-next-line @typescript-eslint/no-empty-object-type
    interface Request extends Omit<IncomingRequest, keyof IncomingMessage> {}
  }
}

/** A layer of the router: it responds, throws, or calls `next`. */
export type Layer = (request: IncomingRequest, response: ServerResponse, next: NextFunction) => void | Promise<void>;

/** Whether a browser loads the URL as a page. Scripts and programs do not accept text/html. */
export function acceptsHtml({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.accept?.includes('text/html') === true;
}

export function acceptsJson({ headers }: IncomingMessage): boolean {
  return headers.accept?.includes('application/json') === true;
}
