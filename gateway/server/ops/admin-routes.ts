import { json, Router, type NextFunction, type Request, type Response } from 'express';
import type { AdminToken } from '../../config/admin-tokens.ts';
import { causeOf } from '../../config/log.ts';
import { InvalidPermissionsError } from '../../auth/permissions/permissions.ts';
import { editableFields } from '../../auth/permissions/permission-fields.ts';
import type { PlanSource } from '../../auth/permissions/plans.ts';
import { StoreError, StoreFull, StoreUnreachable } from '../../store/store-error.ts';
import { KeyOperationError } from '../../auth/manage/key-operation-error.ts';
import { KeyManager } from '../../auth/manage/manage-keys.ts';
import { methodNames } from '../../spec/method-facts.ts';
import { outcomes, servedOutcomes } from '../../metrics/outcome-class.ts';
import type { EventList } from '../../observability/event-list.ts';
import { adminOperations, type AdminContext } from './admin-operations.ts';
import { AdminError, readAdminApi } from './read-admin-api.ts';
import { AdminAuthenticator, type AdminRejection } from './admin-authenticator.ts';
import { readPage, sendPage, type ConsoleLink } from '../pages/read-page.ts';
import type { TrustedProxies } from '../http/trusted-proxies.ts';
import { acceptsHtml } from '../http/layer.ts';
import { formatRetryAfter } from '../http/write-response.ts';

/** Maximum of a body, several times the size of 30 entries of every permission. */
const BODY_MAX_BYTES = 100_000;

export interface AdminRouteOptions extends AdminContext {
  readonly tokens: readonly AdminToken[];
  readonly proxies: TrustedProxies;
  readonly plans: PlanSource;
  readonly onRejected: (reason: AdminRejection) => void;
  /** Links to the pages of the ops port. */
  readonly links: readonly ConsoleLink[];
  readonly events: Pick<EventList, 'add'>;
}

/** The variable parts of a path. */
interface PathParams {
  id?: string;
  network?: string;
  upstream?: string;
  kid?: string;
}

/** The authenticated caller, in `response.locals`. */
interface AdminCaller {
  readonly token: AdminToken;
  readonly address: string;
}

/** Serves `/admin/…`: the operations of `gatehouse keys` over HTTP, for clients with an admin token. */
export function adminRoutes(options: AdminRouteOptions): Router {
  const { tokens: adminTokens, proxies, onRejected, links, events, plans, ...context } = options;
  const { keys, log } = context;
  const { text, operations } = readAdminApi();
  const tokens = new AdminAuthenticator(adminTokens, onRejected);
  const router = Router();
  const hasStatus = links.some(({ path }) => path === '/networks');
  // The pages have no data until their user enters the token.
  const pages = {
    '/': readPage('overview', { hasStatus }, links),
    ...(hasStatus && { '/networks': readPage('status', {}, links) }),
    '/keys': readPage('keys', { fields: editableFields }, links),
    '/usage': readPage('usage', {}, links),
    '/upstreams': readPage('upstreams', {}, links),
    '/calls': readPage('calls', { outcomes, served: servedOutcomes }, links),
    '/events': readPage('events', {}, links),
  };
  for (const [path, page] of Object.entries(pages))
    router.get(path, (request, response, next) => {
      // Programs get the status as JSON at the root.
      if (path === '/' && !acceptsHtml(request)) next();
      else sendPage(response, page);
    });
  // The method reference is on the main port.
  router.get('/docs', (request, response) => {
    response.redirect(`${request.protocol}://${request.hostname}:${context.port()}/docs`);
  });
  router.use('/admin', (request, response, next) => {
    response.setHeader('Cache-Control', 'no-store');
    const address = proxies.addressOf(request);
    try {
      const caller: AdminCaller = { token: tokens.authenticate(request.headers.authorization, address), address };
      Object.assign(response.locals, caller);
      next();
    } catch (error) {
      if ((error as AdminError).status === 401) {
        log.warn({ requestId: response.getHeader('X-Request-Id'), address }, 'admin API: missing or wrong token');
        response.setHeader('WWW-Authenticate', 'Bearer realm="gatehouse"');
      }
      throw error;
    }
  });
  // Any content type is accepted: a form of another site cannot send the token.
  const readBody = json({ limit: BODY_MAX_BYTES, type: () => true });
  for (const { id: operationId, verb, path, role, checkBody, readQuery } of operations) {
    if (operationId === 'document') {
      router.get(path, (request, response) => {
        readQuery(request.query);
        response.type('json').send(text);
      });
      continue;
    }
    const handler = adminOperations[operationId];
    if (handler === undefined) throw new Error(`the operation ${operationId} has no function`);
    const checkRole = (_request: Request, response: Response, next: NextFunction): void => {
      tokens.authorise((response.locals as AdminCaller).token, role);
      next();
    };
    router[verb](path, checkRole, readBody, async (request: Request<PathParams>, response) => {
      const body = (request.body as unknown) ?? {};
      checkBody?.(body);
      const query = readQuery(request.query);
      const { token, address } = response.locals as AdminCaller;
      const by = `admin API, ${token.name}, ${address}`;
      const manager = new KeyManager(keys, plans, methodNames, by);
      const { id = '', network = '', upstream = '', kid = '' } = request.params;
      const operation = { ...context, id, network, upstream, kid, body, query, manager };
      const result = await handler(operation);
      // An explanation changes nothing.
      if (verb !== 'get' && operationId !== 'explain') {
        const { id: changed = id } = result.body as { id?: string };
        events.add({ kind: 'admin', reason: [operationId, changed, network, upstream].filter(Boolean).join(' '), by });
      }
      response.status(result.status).json(result.body);
    });
  }
  for (const path of new Set(operations.map((operation) => operation.path))) {
    const verbs = operations.filter((operation) => operation.path === path).map(({ verb }) => verb.toUpperCase());
    router.all(path, (_request, response) => {
      response.setHeader('Allow', verbs.join(', '));
      throw new AdminError(405, `expected ${verbs.join(' or ')}`);
    });
  }
  router.use('/admin', () => {
    throw new AdminError(404, 'no such operation: see /admin/openapi.json');
  });
  // Express recognises an error handler by its four parameters.
  router.use('/admin', (error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    const { status, message, field, retryAfterS } = toAdminError(error);
    if (status === 500)
      log.error({ requestId: response.getHeader('X-Request-Id'), ...causeOf(error) }, 'internal error');
    if (retryAfterS !== undefined) response.setHeader('Retry-After', formatRetryAfter(retryAfterS));
    response.status(status).json({ error: { ...(field !== undefined && { field }), message } });
  });
  return router;
}

/** Time after which a disk that has space again is seen. */
const DISK_RETRY_S = 5;
const statuses = {
  ...{ missing: 404, invalid: 400, 'already-exists': 409, inactive: 409 },
  ...{ 'no-secret': 409, 'no-redis': 409 },
} as const;

function toAdminError(error: unknown): AdminError {
  if (error instanceof AdminError) return error;
  if (error instanceof KeyOperationError) return new AdminError(statuses[error.kind], error.sentence);
  if (error instanceof InvalidPermissionsError) {
    const [, name] = /^(\w+): /.exec(error.message) ?? [];
    return new AdminError(400, error.message, { field: name === undefined ? 'permissions' : `permissions.${name}` });
  }
  if (error instanceof StoreUnreachable)
    return new AdminError(503, 'the key store cannot be reached at the moment', { retryAfterS: 1 });
  if (error instanceof StoreFull) return new AdminError(503, error.message, { retryAfterS: DISK_RETRY_S });
  if (error instanceof StoreError) return new AdminError(409, error.message);
  const { status, type } = error as { status?: unknown; type?: unknown };
  if (status === 413) return new AdminError(413, `the body is too large: at most ${BODY_MAX_BYTES} bytes are allowed`);
  if (type === 'entity.parse.failed') return new AdminError(400, 'the body is not JSON');
  // Errors of Express and its body parser: unknown encodings, paths that cannot be decoded.
  if (typeof status === 'number' && status < 500) return new AdminError(status, 'bad HTTP request');
  return new AdminError(500, 'internal error');
}
