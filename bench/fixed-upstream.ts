import { createServer, type Server } from 'node:net';
import { fileURLToPath } from 'node:url';
import { WebSocketServer } from 'ws';
import { HttpFrames } from './http-frames.ts';
import type { UpstreamBehaviour } from './upstream-behaviour.ts';
import { allKinds, heads, SLOT } from './wallet-calls.ts';

/** A node that responds to each known call immediately, or as its behaviour says, with as little CPU as Node allows. */
export class FixedUpstream {
  /** The number of known calls that it received. */
  received = 0;
  /** Behaviour for requests over HTTP with known calls; head polls get their responses at once. */
  behaviour: UpstreamBehaviour | undefined;
  readonly #server: Server;
  #sockets: WebSocketServer | undefined;

  constructor() {
    this.#server = createServer({ noDelay: true }, (socket) => {
      const write = (text: string, status = '200 OK'): void => {
        socket.write(
          `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
          'latin1',
        );
      };
      const frames = new HttpFrames(
        (_head, body) => {
          const before = this.received;
          const text = this.#respondTo(body);
          const calls = this.received - before;
          if (this.behaviour === undefined || calls === 0) write(text);
          else
            this.behaviour.handle(calls, (isRefused) => {
              if (isRefused) write('too many requests', '429 Too Many Requests');
              else write(text);
            });
        },
        (error) => socket.destroy(error),
      );
      socket.on('data', (chunk) => {
        frames.feed(chunk);
      });
      socket.on('error', () => socket.destroy());
    });
  }

  /** @param port 0: any free port @returns the port */
  listen(port = 0): Promise<number> {
    return new Promise((resolve) => {
      this.#server.listen(port, '127.0.0.1', () => {
        resolve((this.#server.address() as { port: number }).port);
      });
    });
  }

  /** Server for WebSockets, on a port of its own. @returns the port */
  listenForSockets(): Promise<number> {
    return new Promise((resolve) => {
      const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' }, () => {
        resolve((sockets.address() as { port: number }).port);
      });
      sockets.on('connection', (socket) => {
        socket.on('message', (body: Buffer) => {
          socket.send(this.#respondTo(body.toString('latin1')));
        });
      });
      this.#sockets = sockets;
    });
  }

  close(): void {
    this.#server.close();
    this.#sockets?.close();
  }

  #respondTo(body: string): string {
    if (!body.startsWith('[')) return this.#respondToCall(body);
    const calls = JSON.parse(body) as unknown[];
    return `[${calls.map((call) => this.#respondToCall(JSON.stringify(call))).join(',')}]`;
  }

  #respondToCall(body: string): string {
    const id = /"id":(\d+)/.exec(body)?.[1] ?? 'null';
    const method = /"method":"(\w+)"/.exec(body)?.[1] ?? '';
    return `{"jsonrpc":"2.0","id":${id},${this.#outcome(method, body)}}`;
  }

  #outcome(method: string, body: string): string {
    const parts = results.get(body.includes(',true]') ? `${method} whole` : method);
    const at = body.indexOf(SLOT.slice(0, 4));
    if (parts !== undefined && at !== -1) {
      this.received++;
      return `"result":${parts.join(body.slice(at, at + SLOT.length))}`;
    }
    if (method === 'eth_chainId') return '"result":"0x1"';
    if (method === 'eth_getBlockByNumber') {
      return `"result":${body.includes('"latest"') ? heads.latest : heads.finalized}`;
    }
    return '"error":{"code":-32601,"message":"no such call in the bench"}';
  }
}

/** Result texts, split where the digits of the call go, by method. */
const results = new Map(
  allKinds.map(({ method, params, result }) => [
    params.includes(',true]') ? `${method} whole` : method,
    result.split(SLOT),
  ]),
);

// Standalone, to test a gateway manually: node dist/bench/fixed-upstream.js <port>
if (process.argv[1] === fileURLToPath(import.meta.url)) await new FixedUpstream().listen(Number(process.argv[2]));
