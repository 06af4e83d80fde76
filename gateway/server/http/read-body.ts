import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { RpcError } from '../../jsonrpc/errors.ts';
import { CollectedBytes } from '../../memory/collected-bytes.ts';
import type { Reservation } from '../../memory/reservation.ts';

/** Memory of zlib for one body. */
const GUNZIP_BYTES = 65_536;

/**
 * Reads a request's body, plain or gzip. Its decompressed bytes are taken from the memory budget as they arrive; the
 * caller of this function releases them with the reservation.
 * @param maxBytes limit for the bytes received, and for the decompressed bytes
 * @throws RpcError body-too-large, overloaded or memory-share as soon as a limit is exceeded (Node drops the rest of the body,
 * until the server's request timeout), unsupported-encoding, or parse-error for invalid or incomplete gzip; RequestAborted if
 * the client disconnects (rejects with it)
 */
export function readBody(request: IncomingMessage, maxBytes: number, reservation: Reservation): Promise<Buffer> {
  const encoding = request.headers['content-encoding'];
  return new Promise((resolve, reject) => {
    let body: Readable = request;
    // While its key was looked up: no further event comes.
    if (request.destroyed) throw new RequestAborted();
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
    if (encoding !== undefined) {
      reservation.take(GUNZIP_BYTES);
      body = decompress(request, encoding, maxBytes);
    }
    const collected = new CollectedBytes();
    let hasEnded = false;
    const fail = (error: Error): void => {
      if (hasEnded) return;
      hasEnded = true;
      collected.clear();
      reject(error);
      if (body !== request) body.destroy();
    };
    body.on('data', (chunk: Buffer) => {
      if (hasEnded) return;
      try {
        if (collected.length + chunk.length > maxBytes) throw bodyTooLarge(maxBytes);
        reservation.take(chunk.length);
        collected.add(chunk);
      } catch (error) {
        fail(error as RpcError);
      }
    });
    body.on('end', () => {
      if (hasEnded) return;
      hasEnded = true;
      resolve(collected.join());
    });
    body.on('error', (error) => {
      fail(toBodyError(error));
    });
  });
}

/**
 * Decompresses a body only as it is read: a decompression bomb stops at the first bytes beyond the limit.
 * @throws RpcError unsupported-encoding
 */
function decompress(request: IncomingMessage, encoding: string, maxBytes: number): Readable {
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity') return request;
  // x-gzip is another name of gzip: RFC 9110 §8.4.1.3.
  if (name !== 'gzip' && name !== 'x-gzip') throw new RpcError('unsupported-encoding');
  const gunzip = createGunzip();
  const fail = (error: Error): void => void gunzip.destroy(error);
  let bytes = 0;
  // Large input may decompress to little: a gzip header can contain an endless file name.
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) fail(bodyTooLarge(maxBytes));
  });
  request.on('error', fail);
  return request.pipe(gunzip);
}

/** The client disconnected before its request was complete, so there is no response. */
export class RequestAborted extends Error {
  override readonly name = 'RequestAborted';
}

function toBodyError(error: NodeJS.ErrnoException): Error {
  if (error instanceof RpcError) return error;
  // zlib's codes, for an invalid or incomplete body.
  if (error.code?.startsWith('Z_') !== true) return new RequestAborted();
  return new RpcError('parse-error', 'parse error: the body is not gzip, as its Content-Encoding says');
}

function bodyTooLarge(maxBytes: number): RpcError {
  return new RpcError('body-too-large', `body too large: at most ${maxBytes} bytes are allowed`);
}
