import { Router } from 'express';
import type { MachineMetrics } from './machine-metrics.ts';

export interface Readiness {
  /** Why calls should not be sent to this gateway; undefined: it is ready. */
  readonly reason: string | undefined;
  /** Details, shown as JSON; they contain no secret. */
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Serves metrics to Prometheus, and probes to orchestrators and load balancers.
 * @param isOneOfSeveral each response ends its connection: the next request can go to another worker, if this one hangs
 */
export function opsRoutes(
  metrics: Pick<MachineMetrics, 'page' | 'contentType'>,
  readiness: () => Readiness,
  isOneOfSeveral = false,
): Router {
  const router = Router();
  if (isOneOfSeveral)
    router.use((_request, response, next) => {
      response.removeHeader('Keep-Alive');
      response.set('Connection', 'close');
      next();
    });
  let page: Promise<Buffer> | undefined;
  router.get('/metrics', async (_request, response) => {
    // Simultaneous requests share one page, and its memory.
    page ??= metrics
      .page()
      .then((text) => Buffer.from(text))
      .finally(() => {
        page = undefined;
      });
    response.type(metrics.contentType).send(await page);
  });
  router.get('/livez', (_request, response) => {
    response.type('text/plain').send('ok\n');
  });
  router.get(['/readyz', '/healthz'], (_request, response) => {
    const { reason, details } = readiness();
    response.status(reason === undefined ? 200 : 503).json({ ready: reason === undefined, reason, ...details });
  });
  return router;
}
