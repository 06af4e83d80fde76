import { createServer, type ServerResponse } from 'node:http';
import { Pool, type Dispatcher } from 'undici';

/** A Node proxy that only forwards bytes, by `Pool.dispatch`. Arguments: its port and the upstream's. */
const pool = new Pool(`http://127.0.0.1:${process.argv[3] ?? ''}`, { connections: 64 });

/** Writes an upstream response to a client unchanged. */
class PassThrough implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  readonly #chunks: Buffer[] = [];

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  onRequestStart(): void {
    // Nothing to abort.
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const body = Buffer.concat(this.#chunks);
    this.#response.writeHead(200, ['Content-Type', 'application/json', 'Content-Length', String(body.length)]);
    this.#response.end(body);
  }

  onResponseError(): void {
    this.#response.writeHead(502).end();
  }
}

createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const headers = ['content-type', 'application/json'];
    const body = Buffer.concat(chunks);
    pool.dispatch({ path: '/', method: 'POST', headers, body }, new PassThrough(response));
  });
}).listen(Number(process.argv[2]), '127.0.0.1');
