import { ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { openTracing } from '../../gateway/observability/tracing.ts';
import { status } from '../support/behaviours.ts';
import { openCaller, socketUrl } from '../server/websocket/caller.ts';
import { storageParams, withNodes } from '../routing/with-nodes.ts';
import { recordSpans } from './record-spans.ts';

describe('if an SDK is loaded', () => {
  it('each call is a span with the names of the convention, and each attempt is a child span', async () => {
    const spans = recordSpans();
    const { nodes, gateway, requestCounts } = await withNodes(2);
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
    expect(requestCounts()).toEqual([1, 1]);
    expect(JSON.stringify(spans)).not.toContain('127.0.0.1');
  });

  it('an id of more than 100 characters is in no span: a caller cannot fill memory with ids', async () => {
    const spans = recordSpans();
    const { gateway } = await withNodes(1);
    spans.length = 0;
    const ids = ['"x"', `"${'x'.repeat(98)}"`, `"${'x'.repeat(99)}"`, '9'.repeat(100), '9'.repeat(101)];
    for (const id of ids) await gateway.post('test', `{"jsonrpc":"2.0","id":${id},"method":"eth_chainId","params":[]}`);
    expect(spans.map(({ attributes }) => attributes['jsonrpc.request.id'])).toEqual([
      ...['x', 'x'.repeat(98), undefined],
      ...['9'.repeat(100), undefined],
    ]);
  });

  it('the span of an error has its code and reason, over WebSocket too', async () => {
    const spans = recordSpans();
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

it('without an SDK there is no tracing', () => {
  expect(trace.getSpan(ROOT_CONTEXT)).toBeUndefined();
  expect(openTracing()).toBeUndefined();
});
