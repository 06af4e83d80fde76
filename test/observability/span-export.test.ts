import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { trace } from '@opentelemetry/api';
import { pino } from 'pino';
import { expect, it, onTestFinished, vi } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { network, startGateway } from '../support/gateway.ts';
import { recordSpans } from './record-spans.ts';

interface Export {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Starts a collector of OTLP over HTTP, which answers with a status, or never. @returns its address, and what it receives */
async function openCollector(status: number | undefined): Promise<{ address: string; exports: Export[] }> {
  const exports: Export[] = [];
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      exports.push({ path: request.url, headers: request.headers, body });
      if (status !== undefined) response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/otlp`, exports };
}

/** Sends one call through a gateway with these settings, and stops it. @param line of the log to wait for @returns its log */
async function callOnce(settings: Record<string, string>, line = ''): Promise<string> {
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  let log = '';
  const write = (line: string): void => void (log += line);
  const gateway = await startGateway(
    { test: network(5, ['http://127.0.0.1:9']) },
    settings,
    pino({ base: null }, { write }),
  );
  onTestFinished(() => gateway.stop());
  const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
  await gateway.post('test', '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}', { traceparent });
  await gateway.stop();
  await eventually(() => log.includes(line));
  return log;
}

/** The values of the fields on a path of field numbers in a message of Protocol Buffers. */
function valuesAt(message: Buffer, [first, ...rest]: readonly number[]): Buffer[] {
  if (first === undefined) return [message];
  const found: Buffer[] = [];
  let at = 0;
  const varint = (): number => {
    let [value, factor] = [0, 1];
    for (;;) {
      const byte = message[at++] ?? 0;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const type = tag & 7;
    if (type === 0) varint();
    else if (type === 2) {
      const length = varint();
      if (tag >> 3 === first) found.push(...valuesAt(message.subarray(at, at + length), rest));
      at += length;
    } else at += type === 1 ? 8 : 4;
  }
  return found;
}

const texts = (body: Buffer, path: readonly number[]): string[] => valuesAt(body, path).map(String);
const hex = (body: Buffer, path: readonly number[]): string[] =>
  valuesAt(body, path).map((value) => value.toString('hex'));
/** Field numbers of opentelemetry/proto/collector/trace/v1. */
const [resource, span] = [
  [1, 1],
  [1, 2, 2],
];

it('spans are exported to the collector of OTEL_EXPORTER_OTLP_ENDPOINT, with the service and the trace of the client', async () => {
  const { address, exports } = await openCollector(200);
  await callOnce({
    OTEL_EXPORTER_OTLP_ENDPOINT: address,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-team=traces-secret',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  });
  expect(exports).toHaveLength(1);
  const [{ path, headers, body }] = exports as [Export];
  expect(path).toBe('/otlp/v1/traces');
  expect(headers).toMatchObject({ 'content-type': 'application/x-protobuf', 'x-team': 'traces-secret' });
  const names = texts(body, [...resource, 1, 1]);
  const values = texts(body, [...resource, 1, 2, 1]);
  expect(names).toContain('deployment.environment.name');
  expect(values).toEqual(expect.arrayContaining(['gatehouse', 'test']));
  expect(texts(body, [...span, 5])).toContain('eth_chainId');
  expect(hex(body, [...span, 1])).toContain('ab'.repeat(16));
  expect(hex(body, [...span, 4])).toContain('cd'.repeat(8));
});

it('OTEL_SERVICE_NAME names the service, and OTEL_TRACES_SAMPLER selects traces', async () => {
  const { address, exports } = await openCollector(200);
  const settings = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${address}/mine`, OTEL_SERVICE_NAME: 'edge' };
  await callOnce({ ...settings, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' });
  expect(exports).toEqual([]);
  await callOnce({ ...settings, OTEL_TRACES_SAMPLER: 'always_on' });
  expect(exports.map(({ path }) => path)).toEqual(['/otlp/mine']);
  expect(texts(exports[0]?.body ?? Buffer.alloc(0), [...resource, 1, 2, 1])).toContain('edge');
});

it('OTEL_SDK_DISABLED exports nothing', async () => {
  const { address, exports } = await openCollector(200);
  await callOnce({ OTEL_EXPORTER_OTLP_ENDPOINT: address, OTEL_SDK_DISABLED: 'true' });
  expect(exports).toEqual([]);
});

it('a collector that rejects exports is logged once, without its address, and without the headers', async () => {
  const { address } = await openCollector(401);
  const secret = 'traces-secret';
  const log = await callOnce({
    OTEL_EXPORTER_OTLP_ENDPOINT: `${address}?key=${secret}`,
    OTEL_EXPORTER_OTLP_HEADERS: `x-team=${secret}`,
  });
  expect(log).toContain('"error":"status 401","msg":"spans cannot be exported: those of this time are lost"');
  expect(log).not.toMatch(/127\.0\.0\.1|traces-secret/);
});

it.each([
  { status: 503, error: 'status 429, 502, 503 or 504' },
  { status: undefined, error: 'timeout or other error' },
])('a collector that is overloaded or hangs is logged: %j', async ({ status, error }) => {
  const { address } = await openCollector(status);
  const line = `"error":"${error}","msg":"spans cannot be exported`;
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: address, OTEL_EXPORTER_OTLP_TIMEOUT: '200' };
  expect(await callOnce(settings, line)).toContain(line);
});

it('a provider of an SDK that is loaded already stays, and a warning is logged', async () => {
  const spans = recordSpans();
  const provider = trace.getTracerProvider();
  const { address, exports } = await openCollector(200);
  const log = await callOnce({ OTEL_EXPORTER_OTLP_ENDPOINT: address });
  expect(log).toContain('remove the SDK file');
  expect([exports, spans.length > 0, trace.getTracerProvider()]).toEqual([[], true, provider]);
});
