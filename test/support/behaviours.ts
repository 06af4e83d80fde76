import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** What a fake node does with a call: the ways in which nodes, and what stands before them, answer or fail to. */
export type Behaviour = (exchange: Exchange) => void | Promise<void>;

export interface Exchange {
  readonly id: unknown;
  readonly response: ServerResponse;
  /** The reply that is due: as an object, and as the JSON text of it. */
  readonly upstreamResponse: { jsonrpc: '2.0'; id: unknown; result?: unknown; error?: unknown };
  readonly text: string;
}

const jsonType = { 'content-type': 'application/json' };

/** As a good node does. Where the rest below say no more, they are HTTP 200 with a JSON content type. */
export function asUsual({ response, text }: Exchange): void {
  response.writeHead(200, jsonType).end(text);
}

/** The due reply, but later. */
export function slow(ms: number): Behaviour {
  return async (exchange) => {
    await delay(ms);
    asUsual(exchange);
  };
}

/** No reply ever; the connection stays open. */
export function hang(): void {
  // Nothing: the caller has to give up by itself.
}

/** The connection ends in the middle of the response's headers. */
export function cutInHeaders({ response }: Exchange): void {
  response.socket?.end('HTTP/1.1 200 OK\r\ncontent-type: applic');
}

/** The connection ends after half of the body, of which the headers told the whole length. */
export function cutInBody({ response, text }: Exchange): void {
  response.writeHead(200, { ...jsonType, 'content-length': Buffer.byteLength(text) });
  response.write(text.slice(0, text.length / 2), () => response.destroy());
}

/** Another HTTP status, with a body that is HTML where none is given. */
export function status(code: number, body?: string, contentType = 'text/html'): Behaviour {
  const html = `<html><head><title>${code}</title></head><body><h1>${code}</h1></body></html>`;
  return ({ response }) => void response.writeHead(code, { 'content-type': contentType }).end(body ?? html);
}

/** The due reply under another HTTP status. */
export function statusWithResponse(code: number): Behaviour {
  return ({ response, text }) => void response.writeHead(code, jsonType).end(text);
}

/** Any text in place of the reply: not JSON, null, an array, JSON-RPC by hand. */
export function body(text: string): Behaviour {
  return ({ response }) => void response.writeHead(200, jsonType).end(text);
}

/** The due reply under another id: a wrong one, null, or none at all for undefined. */
export function withId(id: unknown): Behaviour {
  return ({ response, upstreamResponse }) =>
    void response.writeHead(200, jsonType).end(JSON.stringify({ ...upstreamResponse, id }));
}

/** The due reply with its id turned into a string. */
export function idAsString(exchange: Exchange): ReturnType<Behaviour> {
  return withId(String(exchange.id))(exchange);
}

/** An error object by itself, without the JSON-RPC envelope. */
export function bareError(code: number, message: string): Behaviour {
  return body(JSON.stringify({ code, message }));
}

/** A reply whose result is a hexadecimal string of so many megabytes, streamed without a length. */
export function huge(megabytes: number): Behaviour {
  return async ({ id, response }) => {
    function* parts() {
      yield `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":"0x`;
      const megabyte = '00'.repeat(512 * 1024);
      for (let sent = 0; sent < megabytes; sent++) yield megabyte;
      yield '"}';
    }
    response.writeHead(200, jsonType);
    await pipeline(Readable.from(parts()), response).catch(() => undefined); // the caller may have had enough
  };
}

/** The due reply in chunks of so many characters, `ms` apart. */
export function dribble(chunkChars: number, ms: number): Behaviour {
  return async ({ response, text }) => {
    response.writeHead(200, jsonType);
    for (let at = 0; at < text.length && !response.destroyed; at += chunkChars) {
      response.write(text.slice(at, at + chunkChars));
      await delay(ms);
    }
    response.end();
  };
}

export function redirect(location: string, code = 302): Behaviour {
  return ({ response }) => void response.writeHead(code, { location }).end();
}
