import { context, isSpanContextValid, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api';
import { version } from '../config/package.ts';
import type { CallEnd, CallRecord, RecordedAttempt, RecordPrinter, RecordWatcher } from './call-record.ts';

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
export class CallTracing implements RecordPrinter {
  readonly #tracer: Tracer;
  readonly #parent: Context;

  constructor(tracer: Tracer, parent: Context) {
    this.#tracer = tracer;
    this.#parent = parent;
  }

  /** Tracing for the calls of one request. The spans continue the client's trace if the headers name one. */
  under(headers: Readonly<Record<string, unknown>>): CallTracing {
    return new CallTracing(this.#tracer, propagation.extract(this.#parent, headers));
  }

  watch({ method, network, id }: CallRecord): RecordWatcher {
    const attributes = { ...rpc(method), 'gatehouse.network': network, ...requestId(id) };
    const span = this.#tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, this.#parent);
    return new TracedCall(this.#tracer, span, method, trace.setSpan(this.#parent, span));
  }
}

/** Opens tracing; undefined: nothing exports spans. This is checked once at start, so that tracing costs nothing then. */
export function openTracing(): CallTracing | undefined {
  const tracer = trace.getTracer('gatehouse', version);
  const span = tracer.startSpan('gatehouse starts');
  span.end();
  return isSpanContextValid(span.spanContext()) ? new CallTracing(tracer, context.active()) : undefined;
}

/** Writes the events of one call, or of a part of its range, to a span. */
class TracedCall implements RecordWatcher {
  readonly #tracer: Tracer;
  readonly #span: Span;
  readonly #method: string;
  readonly #context: Context;
  readonly #attempts = new Map<RecordedAttempt, Span>();

  constructor(tracer: Tracer, span: Span, method: string, callContext: Context) {
    this.#tracer = tracer;
    this.#span = span;
    this.#method = method;
    this.#context = callContext;
  }

  #childSpan(kind: SpanKind, attributes: Attributes): { span: Span; under: Context } {
    const options = { kind, attributes: { ...rpc(this.#method), ...attributes } };
    const span = this.#tracer.startSpan(this.#method, options, this.#context);
    return { span, under: trace.setSpan(this.#context, span) };
  }

  skipped(upstream: string, reason: string): void {
    this.#span.addEvent('upstream skipped', { 'gatehouse.upstream': upstream, 'gatehouse.reason': reason });
  }

  /** The name of the upstream is in the network file; its URL is never exported, because it may contain a provider's key. */
  attempted(attempt: RecordedAttempt): void {
    const attributes = { 'gatehouse.upstream': attempt.upstream, 'gatehouse.hedge': attempt.isHedge };
    this.#attempts.set(attempt, this.#childSpan(SpanKind.CLIENT, attributes).span);
  }

  attemptEnded(attempt: RecordedAttempt): void {
    const span = this.#attempts.get(attempt);
    if (span !== undefined) end(span, String(attempt.outcome));
  }

  budgetExceeded(what: 'retry' | 'hedge'): void {
    this.#span.addEvent('retry budget exceeded', { 'gatehouse.what': what });
  }

  cached(outcome: string): void {
    this.#span.setAttribute('gatehouse.cache', outcome);
  }

  /** The span of a part has those of its attempts as children. */
  part(from: number, to: number): RecordWatcher {
    const range = { 'gatehouse.range.from': from, 'gatehouse.range.to': to };
    const { span, under } = this.#childSpan(SpanKind.INTERNAL, range);
    return new TracedCall(this.#tracer, span, this.#method, under);
  }

  ended({ outcome, code, results }: CallEnd): void {
    if (code !== undefined) this.#span.setAttribute('rpc.response.status_code', String(code));
    if (results !== undefined) this.#span.setAttribute('gatehouse.results', results);
    end(this.#span, outcome);
  }
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
