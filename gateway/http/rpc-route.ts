import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../config/log.ts';
import { handleBody, type BatchLimits } from '../handle-body.ts';
import { bodyRefusalAnswer } from '../jsonrpc/answer.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { refusalOf } from '../jsonrpc/refusal-of.ts';
import type { Authenticator } from '../keys/authenticate.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { NetworkFinder, Route } from '../network/find-network.ts';
import { noteOf } from '../request-note.ts';
import type { ServedNetwork } from '../served-network.ts';
import type { Load } from '../load.ts';
import type { CallTracing } from '../upstream/trace-calls.ts';
import { watchBoth } from '../upstream/watch-both.ts';
import { compressAnswer } from './compress-answer.ts';
import { connectionOf, type Connection } from './connection.ts';
import { asksForPage } from './page-routes.ts';
import type { TrustedProxies } from './trusted-proxies.ts';
import { readBody, RequestAborted } from './read-body.ts';
import { holdUntilTaken } from './unread-answer.ts';
import { explanationFor } from './watch-calls.ts';
import { writeAnswer, writePreflight } from './write-answer.ts';

export interface RpcRouteParts {
  readonly networks: NetworkFinder<ServedNetwork>;
  readonly authenticator: Authenticator;
  readonly limiter: Limiter;
  readonly proxies: TrustedProxies;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Undefined: requests are not logged. */
  readonly accessLog: Log | undefined;
  readonly nextRequestId: () => string;
  readonly load: Load;
  readonly bodyMaxBytes: number;
  /** Answers of more bytes are gzipped for callers who take that; undefined: none. */
  readonly compressOverBytes: number | undefined;
  readonly callTimeoutMs: number;
  readonly batch: BatchLimits;
  /** Whether a browser that opens such an address is told, by whoever comes next, what it is. */
  readonly hasPages: boolean;
  /** Undefined where nobody takes spans. */
  readonly tracing: CallTracing | undefined;
}

/**
 * `<base>/v3/<KEY>`. Stands before all else in the app, and reads and writes by itself: Express' own parsers and
 * `res.json` cost 20 to 35 µs a call.
 */
export function rpcRoute(parts: RpcRouteParts) {
  /** @returns whether it is for this route */
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const connection = connectionOf(request.socket);
    const route = connection.route(parts.networks, request, parts.proxies.hostOf(request));
    if (route === undefined || (request.method === 'GET' && parts.hasPages && asksForPage(request))) return false;
    void serve(parts, request, response, connection, route);
    return true;
  };
}

/** Never rejects. */
async function serve(
  parts: RpcRouteParts,
  request: IncomingMessage,
  response: ServerResponse,
  connection: Connection,
  { network, key, isWebSocket }: Route<ServedNetwork>,
): Promise<void> {
  const requestId = parts.nextRequestId();
  const note = noteOf(parts.accessLog, requestId);
  let held: number | undefined;
  network?.use.begin();
  try {
    if (network !== undefined) note?.networkIs(network.config.slug);
    // Before all else, so that a page is given to read what is wrong, not a preflight that failed.
    if (request.method === 'OPTIONS') {
      writePreflight(request, response, requestId);
      note?.write('preflight');
      return;
    }
    if (network === undefined) throw new RpcError('unknown-network', parts.networks.hint);
    if (isWebSocket) throw new RpcError('upgrade-required');
    if (request.method !== 'POST') throw new RpcError('verb-not-allowed');
    const address = parts.proxies.addressOf(request);
    const found = parts.authenticator.authenticate(key, address, connection.digestOf(key));
    const access = found instanceof Promise ? await found : found;
    note?.keyIs(access.record.id);
    access.entry?.admit({ network: network.config.slug, address, headers: request.headers });
    parts.load.begin();
    held = 0;
    if (request.headers.expect?.toLowerCase() === '100-continue') response.writeContinue();
    const body = await readBody(request, parts.bodyMaxBytes, parts.load);
    held = body.length;
    const deadline = performance.now() + parts.callTimeoutMs;
    const { limiter, log } = parts;
    const explanation = explanationFor(request, access, network);
    const tracing = parts.tracing?.under(request.headers);
    const watch =
      explanation !== undefined && tracing !== undefined ? watchBoth(explanation, tracing) : (explanation ?? tracing);
    const { caller } = connection;
    const context = { network, access, limiter, requestId, deadline, caller, watch, log, note };
    const answer = await handleBody(body, context, parts.batch);
    const written =
      parts.compressOverBytes === undefined || answer === undefined
        ? answer
        : await compressAnswer(answer, request, response, parts.compressOverBytes);
    writeAnswer(response, requestId, written, explanation?.toString());
    note?.write();
    holdUntilTaken(response, parts.load, written?.body.length ?? 0);
  } catch (error) {
    if (error instanceof RequestAborted) note?.write('aborted');
    else {
      const refusal = refusalOf(error, requestId, parts.log);
      parts.metrics.refused(refusal.reason);
      if (!response.headersSent) writeAnswer(response, requestId, bodyRefusalAnswer(refusal));
      note?.write(refusal.reason);
    }
  } finally {
    if (held !== undefined) parts.load.end(held);
    network?.use.end();
  }
}
