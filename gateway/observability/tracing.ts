import { context, isSpanContextValid, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api';
import { version } from '../config/package.ts';
import type { CallObserver, CallObserverFactory } from './call-observer.ts';

/** Outcomes of calls that are no errors to whoever called. */
const successOutcomes: ReadonlySet<string> = new Set([
  'result',
  'null',
  'notification',
  'response',
  'cancelled',
  'caller-left',
]);

/** Makes spans of calls and attempts, for the SDK that the operator has loaded (`node --import`). */
export class CallTracing implements CallObserverFactory {
  readonly #tracer: Tracer;
  readonly #parent: Context;

  constructor(tracer: Tracer, parent: Context) {
    this.#tracer = tracer;
    this.#parent = parent;
  }

  /** For the calls of a request, which may be a part of the caller's own trace. */
  under(headers: Readonly<Record<string, unknown>>): CallTracing {
    return new CallTracing(this.#tracer, propagation.extract(this.#parent, headers));
  }

  begin(method: string, network: string, id: string | undefined): CallObserver {
    const attributes = { ...rpc(method), 'gatehouse.network': network, ...requestId(id) };
    const span = this.#tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, this.#parent);
    return new TracedCall(this.#tracer, span, method, trace.setSpan(this.#parent, span));
  }
}

/** Undefined where no SDK is loaded, which is seen once: calls then cost nothing. */
export function openTracing(): CallTracing | undefined {
  const tracer = trace.getTracer('gatehouse', version);
  const span = tracer.startSpan('gatehouse starts');
  span.end();
  return isSpanContextValid(span.spanContext()) ? new CallTracing(tracer, context.active()) : undefined;
}

class TracedCall implements CallObserver {
  readonly #tracer: Tracer;
  readonly #span: Span;
  readonly #method: string;
  readonly #own: Context;

  constructor(tracer: Tracer, span: Span, method: string, own: Context) {
    this.#tracer = tracer;
    this.#span = span;
    this.#method = method;
    this.#own = own;
  }

  skipped(upstream: string, reason: string): void {
    this.#span.addEvent('upstream passed over', { 'gatehouse.upstream': upstream, 'gatehouse.reason': reason });
  }

  /** The name that the network's file gives it: no address, since a provider's key may be in that. */
  attemptStarted(upstream: string, isHedge: boolean): (outcome: string) => void {
    const attributes = { ...rpc(this.#method), 'gatehouse.upstream': upstream, 'gatehouse.hedge': isHedge };
    const span = this.#tracer.startSpan(this.#method, { kind: SpanKind.CLIENT, attributes }, this.#own);
    return (outcome) => {
      end(span, outcome);
    };
  }

  budgetExceeded(what: 'retry' | 'hedge'): void {
    this.#span.addEvent('over budget', { 'gatehouse.what': what });
  }

  cached(verdict: string): void {
    this.#span.setAttribute('gatehouse.cache', verdict);
  }

  ended(outcome: string, code: number | undefined): void {
    if (code !== undefined) this.#span.setAttribute('rpc.response.status_code', String(code));
    end(this.#span, outcome);
  }
}

/** https://opentelemetry.io/docs/specs/semconv/rpc/json-rpc/ as of 2026. */
function rpc(method: string): Attributes {
  return { 'rpc.system.name': 'jsonrpc', 'rpc.method': method, 'jsonrpc.protocol.version': '2.0' };
}

/** Not of notifications, and not null. @param id as JSON text */
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
