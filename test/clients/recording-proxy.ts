import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';

/**
 * A proxy between clients and the gateway that records requests and responses. It runs until its process ends, and returns
 * 503 after the gateway has stopped: some clients send requests after they are closed, and do not catch connection errors.
 */
export interface RecordingProxy {
  /** `http://127.0.0.1:<port>`, which clients use as the address of the gateway. */
  readonly address: string;
  /** HTTP requests in order, including preflights. */
  readonly requests: RecordedRequest[];
  /** Requested methods, and those that got -32601, over HTTP and WebSocket. */
  readonly requestedMethods: Set<string>;
  readonly missingMethods: Set<string>;
  /** No HTTP request is in progress. */
  readonly isIdle: boolean;
}

export interface RecordedRequest {
  readonly verb: string;
  readonly status: number;
  /** Codes of the JSON-RPC errors in the response. */
  readonly errors: readonly number[];
}

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly error?: { readonly code: number };
}

/** @param gateway the address of the gateway */
export async function startRecordingProxy(gateway: string): Promise<RecordingProxy> {
  const requests: RecordedRequest[] = [];
  const requestedMethods = new Set<string>();
  const missingMethods = new Set<string>();
  let inFlight = 0;

  function recordMissing(requestText: string, responseText: string): void {
    const calls = messagesIn(requestText);
    for (const { id, error } of messagesIn(responseText)) {
      const method = calls.find((call) => call.id === id)?.method;
      if (error?.code === -32_601 && method !== undefined) missingMethods.add(method);
    }
  }

  function recordRequested(text: string): void {
    for (const { method } of messagesIn(text)) if (method !== undefined) requestedMethods.add(method);
  }

  async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await textOf(request);
    recordRequested(body);
    const headers = Object.entries(request.headers).filter(([name]) => !hopByHop.includes(name)) as [string, string][];
    const gatewayResponse = await fetch(gateway + (request.url ?? ''), {
      method: request.method ?? 'POST',
      headers,
      ...(request.method === 'POST' && { body }),
    });
    const text = await gatewayResponse.text();
    const errors = messagesIn(text).flatMap(({ error }) => error?.code ?? []);
    requests.push({ verb: request.method ?? '', status: gatewayResponse.status, errors });
    recordMissing(body, text);
    const forwarded = [...gatewayResponse.headers].filter(([name]) => !hopByHop.includes(name));
    response.writeHead(gatewayResponse.status, Object.fromEntries(forwarded)).end(text);
  }

  const server = createServer((request, response) => {
    inFlight++;
    response.once('close', () => inFlight--);
    relay(request, response).catch(() => response.writeHead(503).end());
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (client, request) => {
    const sent: string[] = [];
    const upstream = new WebSocket(gateway.replace('http', 'ws') + (request.url ?? ''));
    const opened = once(upstream, 'open').catch(() => undefined);
    client.on('message', (data) => {
      const text = (data as Buffer).toString();
      sent.push(text);
      recordRequested(text);
      void opened.then(() => {
        if (upstream.readyState === upstream.OPEN) upstream.send(text);
      });
    });
    upstream.on('message', (data) => {
      const text = (data as Buffer).toString();
      if (text.includes('-32601')) for (const message of sent) recordMissing(message, text);
      client.send(text);
    });
    client.on('error', ignore).on('close', () => {
      upstream.terminate();
    });
    upstream.on('error', ignore).on('close', () => {
      client.terminate();
    });
  });
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    requestedMethods,
    missingMethods,
    get isIdle() {
      return inFlight === 0;
    },
  };
}

/** Headers of one connection, which are not forwarded. Bodies here are not compressed. */
const hopByHop = [
  'connection',
  'content-length',
  'content-encoding',
  'host',
  'keep-alive',
  'transfer-encoding',
  'accept-encoding',
];

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function messagesIn(text: string): readonly Message[] {
  try {
    return [JSON.parse(text) as Message | Message[]].flat();
  } catch {
    return [];
  }
}

function ignore(): void {
  // The event `close` follows.
}
