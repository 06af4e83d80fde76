import { context, trace, type Context, type SpanKind, type SpanOptions } from '@opentelemetry/api';
import { onTestFinished } from 'vitest';

export interface RecordedSpan {
  readonly name: string;
  readonly kind: SpanKind | undefined;
  readonly attributes: Record<string, unknown>;
  readonly events: string[];
  readonly parent: string | undefined;
  readonly id: string;
  isEnded: boolean;
  isError: boolean;
}

/** Registers a tracer provider that records spans, until the test ends. */
export function recordSpans(): RecordedSpan[] {
  const spans: RecordedSpan[] = [];
  const startSpan = (name: string, { kind, attributes }: SpanOptions = {}, within: Context = context.active()) => {
    const parent = trace.getSpan(within)?.spanContext().spanId;
    const id = (spans.length + 1).toString(16).padStart(16, '0');
    const recorded: RecordedSpan = {
      name,
      kind,
      attributes: { ...attributes },
      events: [],
      parent,
      id,
      isEnded: false,
      isError: false,
    };
    spans.push(recorded);
    const span = {
      spanContext: () => ({ traceId: '1'.repeat(32), spanId: id, traceFlags: 1 }),
      setAttribute: (key: string, value: unknown) => {
        recorded.attributes[key] = value;
        return span;
      },
      addEvent: (event: string) => {
        recorded.events.push(event);
        return span;
      },
      setStatus: () => {
        recorded.isError = true;
        return span;
      },
      end: () => {
        recorded.isEnded = true;
      },
    };
    return span as never;
  };
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan, startActiveSpan: () => undefined as never }) });
  onTestFinished(() => {
    trace.disable();
  });
  return spans;
}
