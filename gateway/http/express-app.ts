import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express, type NextFunction, type Request, type Response, type Router } from 'express';
import { causeOf, type Log } from '../config/log.ts';
import { refusalAnswer } from '../jsonrpc/answer.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { writeAnswer } from './write-answer.ts';

type Handler = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

export interface ExpressAppParts {
  /** First, and all that a call passes. */
  readonly rpc?: Handler;
  readonly ops?: Router;
  /** For people. */
  readonly pages?: Router | undefined;
  readonly nextRequestId: () => string;
  readonly networks: { readonly hint: string };
  readonly log: Log;
}

/** The one Express app; with `OPS_PORT` a second one without calls. */
export function expressApp({ rpc, ops, pages, nextRequestId, networks, log }: ExpressAppParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  if (rpc !== undefined) app.use(rpc);
  if (ops !== undefined) app.use(withRequestId(nextRequestId), ops);
  if (pages !== undefined) app.use(withRequestId(nextRequestId), pages);
  app.use((_request, response) => {
    writeAnswer(response, nextRequestId(), refusalAnswer('null', new RpcError('unknown-network', networks.hint)));
  });
  // Express knows an error handler by its four parameters.
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    const requestId = nextRequestId();
    // Express throws these for paths that it cannot decode.
    const status = (error as { status?: unknown }).status;
    const isCallers = typeof status === 'number' && status < 500;
    if (!isCallers) log.error({ requestId, ...causeOf(error) }, 'internal error');
    const refusal = isCallers
      ? new RpcError('bad-http')
      : new RpcError('internal-error', `internal error (${requestId})`);
    writeAnswer(response, requestId, refusalAnswer('null', refusal));
  });
  return app;
}

/** For routes that leave their answers to Express. */
function withRequestId(nextRequestId: () => string): Handler {
  return (_request, response, next) => {
    response.setHeader('X-Request-Id', nextRequestId());
    next();
  };
}
