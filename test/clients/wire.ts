import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';

/**
 * A wire between clients and the gateway that notes what passes. It is there for as long as its process, and says 503
 * when the gateway is gone: some clients go on to ask by themselves after they are closed, and catch nothing where
 * nobody listens.
 */
export interface Wire {
  /** Stands for the gateway's: `http://127.0.0.1:<port>` */
  readonly address: string;
  /** Requests and their HTTP statuses, in order; preflights, too. */
  readonly requests: Noted[];
  /** Methods that were asked for, and those that were answered with -32601, over whatever transport. */
  readonly asked: Set<string>;
  readonly missing: Set<string>;
  /** No request is under way. */
  readonly isQuiet: boolean;
}

export interface Noted {
  readonly verb: string;
  readonly status: number;
  /** Codes of the errors in it. */
  readonly errors: readonly number[];
}

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly error?: { readonly code: number };
}

/** @param gateway its address */
export async function startWire(gateway: string): Promise<Wire> {
  const requests: Noted[] = [];
  const requested = new Set<string>();
  const missing = new Set<string>();
  let inFlight = 0;

  function logEntry(sent: string, answered: string): void {
    const calls = messagesIn(sent);
    for (const { id, error } of messagesIn(answered)) {
      const method = calls.find((call) => call.id === id)?.method;
      if (error?.code === -32_601 && method !== undefined) missing.add(method);
    }
  }

  function noteAsked(text: string): void {
    for (const { method } of messagesIn(text)) if (method !== undefined) requested.add(method);
  }

  async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await textOf(request);
    noteAsked(body);
    const headers = Object.entries(request.headers).filter(([name]) => !hopByHop.includes(name)) as [string, string][];
    const rpcResponse = await fetch(gateway + (request.url ?? ''), {
      method: request.method ?? 'POST',
      headers,
      ...(request.method === 'POST' && { body }),
    });
    const text = await rpcResponse.text();
    const errors = messagesIn(text).flatMap(({ error }) => error?.code ?? []);
    requests.push({ verb: request.method ?? '', status: rpcResponse.status, errors });
    logEntry(body, text);
    const back = [...rpcResponse.headers].filter(([name]) => !hopByHop.includes(name));
    response.writeHead(rpcResponse.status, Object.fromEntries(back)).end(text);
  }

  const server = createServer((request, response) => {
    inFlight++;
    response.once('close', () => inFlight--);
    relay(request, response).catch(() => response.writeHead(503).end());
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (near, request) => {
    const sent: string[] = [];
    const far = new WebSocket(gateway.replace('http', 'ws') + (request.url ?? ''));
    const opened = once(far, 'open').catch(() => undefined);
    near.on('message', (data) => {
      const text = (data as Buffer).toString();
      sent.push(text);
      noteAsked(text);
      void opened.then(() => {
        if (far.readyState === far.OPEN) far.send(text);
      });
    });
    far.on('message', (data) => {
      const text = (data as Buffer).toString();
      if (text.includes('-32601')) for (const message of sent) logEntry(message, text);
      near.send(text);
    });
    near.on('error', ignore).on('close', () => {
      far.terminate();
    });
    far.on('error', ignore).on('close', () => {
      near.terminate();
    });
  });
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    asked: requested,
    missing,
    get isQuiet() {
      return inFlight === 0;
    },
  };
}

/** What one end of a connection says to the other; the bodies here are as they were before any compression. */
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
  // How it ends is told by its close.
}
