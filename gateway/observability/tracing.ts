import { context, isSpanContextValid, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api';
import { version } from '../config/package.ts';
import type { RecordedAttempt, RecordPrinter, RecordWatcher } from './call-record.ts';

/** Outcomes that are not errors for the caller. */
const successOutcomes: ReadonlySet<string> = new Set([
  'result',
  'null',
  'notification',
  'response',
  'cancelled',
  'caller-left',
]);

/** Maximum length of a request id in a span: up to 2,048 spans wait for the collector, and no memory budget counts them. */
const MAX_ID_LENGTH = 100;

/** Creates a span for each call and each attempt, which span-export.ts exports. */
export interface CallTracing extends RecordPrinter {
  /** Tracing for the calls of one request. The spans continue the client's trace if the headers name one. */
  under(headers: Readonly<Record<string, unknown>>): RecordPrinter;
}

function tracingIn(tracer: Tracer, parent: Context): CallTracing {
  return {
    under: (headers) => tracingIn(tracer, propagation.extract(parent, headers)),
    watch: ({ method, network, id }) => {
      const attributes = { ...rpc(method), 'gatehouse.network': network, ...requestId(id) };
      const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
      return traced(tracer, span, method, parent);
    },
  };
}

/** Opens tracing; undefined: nothing exports spans. This is checked once at start, so that tracing costs nothing then. */
export function openTracing(): CallTracing | undefined {
  const tracer = trace.getTracer('gatehouse', version);
  const span = tracer.startSpan('gatehouse starts');
  span.end();
  return isSpanContextValid(span.spanContext()) ? tracingIn(tracer, context.active()) : undefined;
}

/** Writes the events of one call, or of a part of its range, to a span. */
function traced(tracer: Tracer, span: Span, method: string, parent: Context): RecordWatcher {
  const under = trace.setSpan(parent, span);
  const attempts = new Map<RecordedAttempt, Span>();
  const childSpan = (kind: SpanKind, attributes: Attributes): Span =>
    tracer.startSpan(method, { kind, attributes: { ...rpc(method), ...attributes } }, under);
  return {
    skipped: (upstream, reason) => {
      span.addEvent('upstream skipped', { 'gatehouse.upstream': upstream, 'gatehouse.reason': reason });
    },
    // The name of the upstream is in the network file; its URL is never exported, because it may contain a provider's key.
    attempted: (attempt) => {
      const attributes = { 'gatehouse.upstream': attempt.upstream, 'gatehouse.hedge': attempt.isHedge };
      attempts.set(attempt, childSpan(SpanKind.CLIENT, attributes));
    },
    attemptEnded: (attempt) => {
      const own = attempts.get(attempt);
      if (own !== undefined) end(own, String(attempt.outcome));
    },
    budgetExceeded: (what) => {
      span.addEvent('retry budget exceeded', { 'gatehouse.what': what });
    },
    cached: (outcome) => {
      span.setAttribute('gatehouse.cache', outcome);
    },
    // The span of a part has those of its attempts as children.
    part: (from, to) => {
      const range = { 'gatehouse.range.from': from, 'gatehouse.range.to': to };
      return traced(tracer, childSpan(SpanKind.INTERNAL, range), method, under);
    },
    ended: ({ outcome, code, results }) => {
      if (code !== undefined) span.setAttribute('rpc.response.status_code', String(code));
      if (results !== undefined) span.setAttribute('gatehouse.results', results);
      end(span, outcome);
    },
  };
}

/** https://opentelemetry.io/docs/specs/semconv/rpc/json-rpc/ as of 2026. */
function rpc(method: string): Attributes {
  return { 'rpc.system.name': 'jsonrpc', 'rpc.method': method, 'jsonrpc.protocol.version': '2.0' };
}

/** Attributes of the request id: none for notifications, for the id null and for a long id. @param id as JSON text */
function requestId(id: string | undefined): Attributes {
  if (id === undefined || id === 'null' || id.length > MAX_ID_LENGTH) return {};
  // A number is copied: a slice would retain the whole body in V8. JSON.parse copies strings.
  return { 'jsonrpc.request.id': id.startsWith('"') ? (JSON.parse(id) as string) : Buffer.from(id).toString() };
}

function end(span: Span, outcome: string): void {
  if (!successOutcomes.has(outcome)) {
    span.setAttribute('error.type', outcome);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}
