import type { IncomingMessage } from 'node:http';
import { RpcError } from '../jsonrpc/errors.ts';

/**
 * Reads a request's body as text.
 * @throws RpcError body-too-large, as soon as that is known; what still comes is dropped by Node, for as long as
 * the server's request timeout lets it.
 * @throws RequestAborted when the caller went away
 */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<string> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(bodyTooLarge(maxBytes));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      reject(bodyTooLarge(maxBytes));
    });
    request.on('end', () => {
      const [first] = chunks;
      const whole = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
      resolve(whole.toString('utf8'));
    });
    request.on('error', () => {
      reject(new RequestAborted());
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
