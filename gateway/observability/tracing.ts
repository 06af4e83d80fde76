import { context, isSpanContextValid, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api';
import { version } from '../config/package.ts';
import type { CallEnd, CallSink, CallSinks } from './call-sink.ts';

/** Outcomes that are not errors for the caller. */
const successOutcomes: ReadonlySet<string> = new Set([
  'result',
  'null',
  'notification',
  'response',
  'cancelled',
  'caller-left',
]);

/** Creates a span for each call and each attempt. Exports need an SDK that the operator loads (`node --import`). */
export class CallTracing implements CallSinks {
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

  begin(method: string, network: string, id: string | undefined): CallSink {
    const attributes = { ...rpc(method), 'gatehouse.network': network, ...requestId(id) };
    const span = this.#tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, this.#parent);
    return new TracedCall(this.#tracer, span, method, trace.setSpan(this.#parent, span));
  }
}

/** Undefined if no SDK is loaded. This is checked once at start, so that tracing costs nothing without an SDK. */
export function openTracing(): CallTracing | undefined {
  const tracer = trace.getTracer('gatehouse', version);
  const span = tracer.startSpan('gatehouse starts');
  span.end();
  return isSpanContextValid(span.spanContext()) ? new CallTracing(tracer, context.active()) : undefined;
}

/** Writes the events of one call, or of a part of its range, to a span. */
class TracedAttempts implements CallSink {
  readonly #tracer: Tracer;
  protected readonly span: Span;
  readonly #method: string;
  readonly #context: Context;

  constructor(tracer: Tracer, span: Span, method: string, callContext: Context) {
    this.#tracer = tracer;
    this.span = span;
    this.#method = method;
    this.#context = callContext;
  }

  protected childSpan(kind: SpanKind, attributes: Attributes): { span: Span; under: Context } {
    const options = { kind, attributes: { ...rpc(this.#method), ...attributes } };
    const span = this.#tracer.startSpan(this.#method, options, this.#context);
    return { span, under: trace.setSpan(this.#context, span) };
  }

  skipped(upstream: string, reason: string): void {
    this.span.addEvent('upstream skipped', { 'gatehouse.upstream': upstream, 'gatehouse.reason': reason });
  }

  /** @param upstream name in the network file; the URL is never exported, because it may contain a provider's key */
  attempt(upstream: string, isHedge: boolean): (outcome: string) => void {
    const attributes = { 'gatehouse.upstream': upstream, 'gatehouse.hedge': isHedge };
    const { span } = this.childSpan(SpanKind.CLIENT, attributes);
    return (outcome) => {
      end(span, outcome);
    };
  }

  budgetExceeded(what: 'retry' | 'hedge'): void {
    this.span.addEvent('retry budget exceeded', { 'gatehouse.what': what });
  }

  cached(outcome: string): void {
    this.span.setAttribute('gatehouse.cache', outcome);
  }
}

class TracedCall extends TracedAttempts implements CallSink {
  readonly #start: (span: Span, under: Context) => TracedPart;

  constructor(tracer: Tracer, span: Span, method: string, callContext: Context) {
    super(tracer, span, method, callContext);
    this.#start = (ofPart, under) => new TracedPart(tracer, ofPart, method, under);
  }

  /** The span of a part has those of its attempts as children. */
  part(from: number, to: number): CallSink {
    const range = { 'gatehouse.range.from': from, 'gatehouse.range.to': to };
    const { span, under } = this.childSpan(SpanKind.INTERNAL, range);
    return this.#start(span, under);
  }

  ended({ outcome, code }: CallEnd): void {
    if (code !== undefined) this.span.setAttribute('rpc.response.status_code', String(code));
    end(this.span, outcome);
  }
}

class TracedPart extends TracedAttempts implements CallSink {
  ended({ outcome, results }: CallEnd): void {
    if (results !== undefined) this.span.setAttribute('gatehouse.results', results);
    end(this.span, outcome);
  }
}

/** https://opentelemetry.io/docs/specs/semconv/rpc/json-rpc/ as of 2026. */
function rpc(method: string): Attributes {
  return { 'rpc.system.name': 'jsonrpc', 'rpc.method': method, 'jsonrpc.protocol.version': '2.0' };
}

/** Empty for notifications and for the id null. @param id as JSON text */
function requestId(id: string | undefined): Attributes {
  if (id === undefined || id === 'null') return {};
  return { 'jsonrpc.request.id': id.startsWith('"') ? (JSON.parse(id) as string) : id };
}

function end(span: Span, outcome: string): void {
  if (!successOutcomes.has(outcome)) {
    span.setAttribute('error.type', outcome);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}
