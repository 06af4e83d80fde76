import { context, ROOT_CONTEXT, SpanKind, trace, type Context, type SpanOptions } from '@opentelemetry/api';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openTracing } from '../../gateway/observability/tracing.ts';
import { status } from '../support/behaviours.ts';
import { openCaller, socketUrl } from '../server/websocket/caller.ts';
import { storageParams, withNodes } from '../routing/with-nodes.ts';

interface TakenSpan {
  readonly name: string;
  readonly kind: SpanKind | undefined;
  readonly attributes: Record<string, unknown>;
  readonly events: string[];
  readonly parent: string | undefined;
  readonly id: string;
  isEnded: boolean;
  isError: boolean;
}

/** What an SDK is to the API: takes spans. It is gone when the test is over. */
function takeSpans(): TakenSpan[] {
  const spans: TakenSpan[] = [];
  const startSpan = (name: string, { kind, attributes }: SpanOptions = {}, within: Context = context.active()) => {
    const parent = trace.getSpan(within)?.spanContext().spanId;
    const id = (spans.length + 1).toString(16).padStart(16, '0');
    const taken: TakenSpan = {
      name,
      kind,
      attributes: { ...attributes },
      events: [],
      parent,
      id,
      isEnded: false,
      isError: false,
    };
    spans.push(taken);
    const span = {
      spanContext: () => ({ traceId: '1'.repeat(32), spanId: id, traceFlags: 1 }),
      setAttribute: (key: string, value: unknown) => {
        taken.attributes[key] = value;
        return span;
      },
      addEvent: (event: string) => {
        taken.events.push(event);
        return span;
      },
      setStatus: () => {
        taken.isError = true;
        return span;
      },
      end: () => {
        taken.isEnded = true;
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

describe('where an SDK is loaded', () => {
  it('each call is a span, by today’s names, and each attempt one below it', async () => {
    const spans = takeSpans();
    const { nodes, gateway, asked: requested } = await withNodes(2);
    nodes[0]?.always(status(503));
    spans.length = 0;
    await gateway.call('test', 'eth_getStorageAt', storageParams, 'an id');
    const rpc = { 'rpc.system.name': 'jsonrpc', 'rpc.method': 'eth_getStorageAt', 'jsonrpc.protocol.version': '2.0' };
    expect(spans).toMatchObject([
      {
        name: 'eth_getStorageAt',
        kind: SpanKind.SERVER,
        parent: undefined,
        attributes: { ...rpc, 'jsonrpc.request.id': 'an id', 'gatehouse.network': 'test', 'gatehouse.cache': 'off' },
        isEnded: true,
        isError: false,
      },
      {
        kind: SpanKind.CLIENT,
        parent: spans[0]?.id,
        attributes: { ...rpc, 'gatehouse.upstream': 'node-0', 'error.type': 'transport' },
        isEnded: true,
        isError: true,
      },
      { kind: SpanKind.CLIENT, parent: spans[0]?.id, attributes: { 'gatehouse.upstream': 'node-1' }, isError: false },
    ]);
    expect(requested()).toEqual([1, 1]);
    expect(JSON.stringify(spans)).not.toContain('127.0.0.1');
  });

  it('an error has its code and its reason, over WebSocket too', async () => {
    const spans = takeSpans();
    const { gateway } = await withNodes(1);
    spans.length = 0;
    const caller = await openCaller(socketUrl(gateway, 'test'));
    await caller.call('no_such');
    caller.socket.close();
    expect(spans).toMatchObject([
      {
        name: 'other',
        attributes: { 'rpc.response.status_code': '-32601', 'error.type': 'method-not-found' },
        isError: true,
        isEnded: true,
      },
    ]);
  });
});

it('without an SDK there is nothing to be traced', () => {
  expect(trace.getSpan(ROOT_CONTEXT)).toBeUndefined();
  expect(openTracing()).toBeUndefined();
});
