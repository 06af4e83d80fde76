import { once } from 'node:events';
import { WebSocket } from 'ws';

/** One way to a chain: a node itself or the gateway in front of it, over HTTP or WebSocket. */
export interface RpcEndpoint {
  readonly name: string;
  readonly isSocket: boolean;
  /** `result <JSON>` or `error <JSON>`: the bytes of the response without the envelope. */
  request(method: string, params: readonly unknown[]): Promise<string>;
  /** Sends the text of a request unchanged. */
  send(text: string): Promise<string>;
  close(): void;
}

const REQUEST_TIMEOUT_MS = 60_000;
const RESPONSE = /^\{"jsonrpc":"2\.0","id":\d+,"(result|error)":([^]*)\}\s*$/;

export function httpEndpoint(name: string, url: string): RpcEndpoint {
  const send = async (body: string): Promise<string> => {
    const headers = { 'content-type': 'application/json' };
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    const response = await fetch(url, { method: 'POST', headers, body, signal });
    return outcomeOf(await response.text());
  };
  return {
    name,
    isSocket: false,
    request: (method, params) => send(requestText(method, params)),
    send,
    close: () => undefined,
  };
}

/** Requests go one by one. Notifications are dropped. */
export async function openWebSocketEndpoint(name: string, url: string): Promise<RpcEndpoint> {
  const socket = new WebSocket(url);
  await once(socket, 'open');
  const send = async (request: string): Promise<string> => {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    socket.send(request);
    for (;;) {
      const [data] = (await once(socket, 'message', { signal })) as [Buffer];
      const text = data.toString();
      if (!text.startsWith('{"jsonrpc":"2.0","method"')) return outcomeOf(text);
    }
  };
  return {
    name,
    isSocket: true,
    request: (method, params) => send(requestText(method, params)),
    send,
    close: () => {
      socket.terminate();
    },
  };
}

/** @throws Error when the response is an error */
export async function fetchResult<Result>(
  endpoint: RpcEndpoint,
  method: string,
  ...params: unknown[]
): Promise<Result> {
  const outcome = await endpoint.request(method, params);
  if (!outcome.startsWith('result ')) throw new Error(`${method} ${JSON.stringify(params)}: ${outcome}`);
  return JSON.parse(outcome.slice('result '.length)) as Result;
}

function requestText(method: string, params: readonly unknown[]): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
}

function outcomeOf(text: string): string {
  const [, kind, json] = RESPONSE.exec(text) ?? [];
  return kind === undefined || json === undefined ? `no response: ${text}` : `${kind} ${json}`;
}
