import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { WebSocket } from 'ws';

/** How one client reaches a gateway: here over the network, in the simulation in memory. */
export interface Client {
  /** Sends a body over HTTP. @returns that of the response */
  post(body: string): Promise<string>;
  /** @param onMessage called with each message @throws if the gateway rejects the WebSocket (rejects with it) */
  openSocket(onMessage: (text: string) => void): Promise<ClientSocket>;
  close(): void;
}

export interface ClientSocket {
  readonly isOpen: boolean;
  /** The close code. */
  readonly closed: Promise<number>;
  send(text: string): void;
  terminate(): void;
}

/** Time after which the gateway has not responded. */
export const RESPONSE_TIMEOUT_MS = 30_000;

/** A client with one HTTP connection, and WebSockets. */
export class NetworkClient implements Client {
  readonly #url: string;
  readonly #webSocketUrl: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string, webSocketUrl: string) {
    this.#url = url;
    this.#webSocketUrl = webSocketUrl;
  }

  post(body: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      const options = { method: 'POST', agent: this.#agent, headers, timeout: RESPONSE_TIMEOUT_MS };
      const sent = httpRequest(this.#url, options, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => {
          resolve(text);
        });
        response.on('error', reject);
      });
      sent.on('timeout', () => sent.destroy(new Error('timeout')));
      sent.on('error', reject);
      sent.end(body);
    });
  }

  async openSocket(onMessage: (text: string) => void): Promise<ClientSocket> {
    const socket = new WebSocket(this.#webSocketUrl);
    socket.on('message', (data) => {
      onMessage((data as Buffer).toString());
    });
    const closed = once(socket, 'close').then(([code]: number[]) => code ?? 0);
    closed.catch(() => undefined);
    await once(socket, 'open');
    return {
      get isOpen() {
        return socket.readyState === socket.OPEN;
      },
      closed,
      send: (text) => {
        socket.send(text);
      },
      terminate: () => {
        socket.terminate();
      },
    };
  }

  close(): void {
    this.#agent.destroy();
  }
}
