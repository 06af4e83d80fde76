import { trace } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace-node';
import { firstWithin } from '../clock/first-within.ts';
import { errorCode, type Log } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';

/** Bound of the last export: a collector that cannot be reached does not delay the stop of the gateway. */
const MAX_LAST_EXPORT_MS = 1_000;

type ExportSettings = Pick<Settings, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'>;

/**
 * Exports the spans of this process by OTLP, if a setting names an endpoint. The packages of OpenTelemetry read the `OTEL_*`
 * variables of the process themselves, and are not loaded without an endpoint.
 * @returns exports the last spans and ends; undefined: nothing is exported
 */
export async function startSpanExport(settings: ExportSettings, log: Log): Promise<(() => Promise<void>) | undefined> {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ofTraces, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint = ofTraces } = settings;
  if (endpoint === undefined) return undefined;
  const [sdk, { OTLPTraceExporter }, { defaultResource, detectResources, envDetector, resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/sdk-trace-node'),
      import('@opentelemetry/exporter-trace-otlp-proto'),
      import('@opentelemetry/resources'),
    ]);
  const exporter = new OTLPTraceExporter();
  logOutages(exporter, log);
  const named = defaultResource().merge(resourceFromAttributes({ 'service.name': 'gatehouse' }));
  const provider = new sdk.NodeTracerProvider({
    resource: named.merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new sdk.BatchSpanProcessor(exporter)],
  });
  // `register` does not report that the process has another provider already.
  if (!trace.setGlobalTracerProvider(provider)) {
    log.warn('spans are exported by the SDK that this process has loaded, not by the settings: remove the SDK file');
    await provider.shutdown();
    return undefined;
  }
  // Spans get their parents as arguments, so that no context follows asynchronous calls, which costs CPU.
  provider.register({ contextManager: null });
  return async () => {
    await firstWithin([provider.shutdown().catch(() => undefined)], MAX_LAST_EXPORT_MS);
    trace.disable();
  };
}

/** Logs the begin and the end of an outage, without the endpoint and what it responds. */
function logOutages(exporter: SpanExporter, log: Log): void {
  const send = exporter.export.bind(exporter);
  let isFailing = false;
  exporter.export = (spans, done) => {
    send(spans, (result) => {
      const { error } = result;
      if (error === undefined && isFailing) log.info('spans are exported again');
      if (error !== undefined && !isFailing)
        log.warn({ error: codeOf(error) }, 'spans cannot be exported: those of this time are lost');
      isFailing = error !== undefined;
      done(result);
    });
  };
}

/**
 * The status of an HTTP response that is not retried, or the code of a network error. Of 429, 502, 503 and 504 the exporter has no
 * status, and of a timeout it has no code.
 */
function codeOf(error: Error): string {
  const { code } = error as { code?: unknown };
  if (typeof code === 'number') return `status ${code}`;
  if (error.name === 'OTLPExporterError') return 'status 429, 502, 503 or 504';
  return error.name === 'Error' && code === undefined ? 'timeout or other error' : errorCode(error);
}
