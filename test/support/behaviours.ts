import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { scenarioPause } from './scenario-pause.ts';

/** How a fake node handles a call: the ways in which nodes, and proxies in front of them, respond or fail. */
export type Behaviour = (exchange: Exchange) => void | Promise<void>;

export interface Exchange {
  readonly id: unknown;
  readonly response: ServerResponse;
  /** The configured response. For a batch, the one to its first call. */
  readonly upstreamResponse: { jsonrpc: '2.0'; id: unknown; result?: unknown; error?: unknown };
  /** The response body as JSON. */
  readonly text: string;
}

const jsonType = { 'content-type': 'application/json' };

/** Sends the configured response. All behaviours use HTTP 200 and a JSON content type unless they state otherwise. */
export function asUsual({ response, text }: Exchange): void {
  response.writeHead(200, jsonType).end(text);
}

/** Sends the configured response after a delay. */
export function slow(ms: number): Behaviour {
  return async (exchange) => {
    await scenarioPause(ms);
    asUsual(exchange);
  };
}

/** Sends nothing and leaves the connection open, so that only a timeout ends the call. */
export function hang(): void {
  // Intentionally empty.
}

/** Closes the connection in the middle of the response headers. */
export function cutInHeaders({ response }: Exchange): void {
  response.socket?.end('HTTP/1.1 200 OK\r\ncontent-type: applic');
}

/** Closes the connection after half of the body. Content-Length has the full length. */
export function cutInBody({ response, text }: Exchange): void {
  response.writeHead(200, { ...jsonType, 'content-length': Buffer.byteLength(text) });
  response.write(text.slice(0, text.length / 2), () => response.destroy());
}

/** Sends another HTTP status, with an HTML page as the default body. */
export function status(code: number, body?: string, contentType = 'text/html'): Behaviour {
  const html = `<html><head><title>${code}</title></head><body><h1>${code}</h1></body></html>`;
  return ({ response }) => void response.writeHead(code, { 'content-type': contentType }).end(body ?? html);
}

/** Sends the configured response with another HTTP status. */
export function statusWithResponse(code: number): Behaviour {
  return ({ response, text }) => void response.writeHead(code, jsonType).end(text);
}

/** Sends any text as the body, for example invalid JSON or null. */
export function body(text: string): Behaviour {
  return ({ response }) => void response.writeHead(200, jsonType).end(text);
}

/** Sends the configured response with another id. Undefined omits the id. */
export function withId(id: unknown): Behaviour {
  return ({ response, upstreamResponse }) =>
    void response.writeHead(200, jsonType).end(JSON.stringify({ ...upstreamResponse, id }));
}

/** Sends the configured response with its id converted to a string. */
export function idAsString(exchange: Exchange): ReturnType<Behaviour> {
  return withId(String(exchange.id))(exchange);
}

/** Sends an error object without the JSON-RPC envelope. */
export function bareError(code: number, message: string): Behaviour {
  return body(JSON.stringify({ code, message }));
}

/** Streams a result that is a hexadecimal string of this many MiB, without Content-Length. */
export function huge(megabytes: number): Behaviour {
  return async ({ id, response }) => {
    function* parts() {
      yield `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":"0x`;
      const megabyte = '00'.repeat(512 * 1024);
      for (let sent = 0; sent < megabytes; sent++) yield megabyte;
      yield '"}';
    }
    response.writeHead(200, jsonType);
    await pipeline(Readable.from(parts()), response).catch(() => undefined); // The client may have cancelled the request.
  };
}

/** Sends the configured response in chunks of `chunkChars` characters, one every `ms` milliseconds. */
export function dribble(chunkChars: number, ms: number): Behaviour {
  return async ({ response, text }) => {
    response.writeHead(200, jsonType);
    for (let at = 0; at < text.length && !response.destroyed; at += chunkChars) {
      response.write(text.slice(at, at + chunkChars));
      await scenarioPause(ms);
    }
    response.end();
  };
}

export function redirect(location: string, code = 302): Behaviour {
  return ({ response }) => void response.writeHead(code, { location }).end();
}
