import type { IncomingMessage } from 'node:http';
import { RpcError } from '../jsonrpc/errors.ts';
import type { Load } from './load.ts';

/**
 * Reads a request's body. Its bytes count as held from their arrival on; the reader ends that with `Load.end`.
 * @throws RpcError body-too-large or overloaded, as soon as that is known; what still comes is dropped by Node, for as
 * long as the server's request timeout lets it.
 * @throws RequestAborted when the caller went away
 */
export function readBody(request: IncomingMessage, maxBytes: number, load: Load): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(bodyTooLarge(maxBytes));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let isOver = false;
    const fail = (error: Error): void => {
      if (isOver) return;
      isOver = true;
      chunks.length = 0;
      load.release(bytes);
      reject(error);
    };
    request.on('data', (chunk: Buffer) => {
      if (isOver) return;
      if (bytes + chunk.length > maxBytes) {
        fail(bodyTooLarge(maxBytes));
        return;
      }
      try {
        load.hold(chunk.length);
      } catch (error) {
        fail(error as RpcError);
        return;
      }
      bytes += chunk.length;
      chunks.push(chunk);
    });
    request.on('end', () => {
      if (isOver) return;
      isOver = true;
      const [first] = chunks;
      resolve(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, bytes));
    });
    request.on('error', () => {
      fail(new RequestAborted());
    });
  });
}

/** There is nobody left to answer. */
export class RequestAborted extends Error {
  override readonly name = 'RequestAborted';
}

function bodyTooLarge(maxBytes: number): RpcError {
  return new RpcError('body-too-large', `body too large: at most ${maxBytes} bytes are allowed`);
}
