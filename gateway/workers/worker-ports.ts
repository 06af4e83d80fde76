import type { Socket } from 'node:net';
import { clock, type Timer } from '../clock/clock.ts';
import type { ConnectionMessage, MessageToPrimary } from './messages.ts';
import { CLOSE_PORT_TOPIC, OPEN_PORT_TOPIC, type PortRequest, type PortResponse } from './shared-ports.ts';

/** The primary gets the number of open connections within this time of a close. */
const REPORT_MS = 10;

/** The ports of one worker. The primary listens for it, and sends it connections. */
export class WorkerPorts {
  /** Connections that are open. */
  open = 0;
  readonly #request: (topic: string, body: unknown) => Promise<unknown>;
  readonly #send: (message: MessageToPrimary) => void;
  readonly #users = new Map<string, (socket: Socket) => void>();
  #timer: Timer | undefined;

  /** @param request sends a request to the primary */
  constructor(request: (topic: string, body: unknown) => Promise<unknown>, send: (message: MessageToPrimary) => void) {
    this.#request = request;
    this.#send = send;
  }

  /**
   * @param use called with each connection
   * @returns the port of the system
   * @throws the error of the system (rejects with it)
   */
  async listen(request: PortRequest, use: (socket: Socket) => void): Promise<number> {
    this.#users.set(request.name, use);
    const response = (await this.#request(OPEN_PORT_TOPIC, request)) as PortResponse;
    if ('port' in response) return response.port;
    throw Object.assign(new Error(), response.error);
  }

  /** Resolves when no more connections come. */
  async close(name: string): Promise<void> {
    await this.#request(CLOSE_PORT_TOPIC, name);
  }

  /** @param socket undefined: it was closed before the message was sent, or the worker has not responded to the first message */
  received({ id, port, sentAt, validMs }: ConnectionMessage, socket: Socket | undefined): void {
    const isAccepted = socket !== undefined && clock.machineMs() - sentAt <= validMs;
    if (isAccepted) this.open++;
    this.#send({ kind: 'connection-response', id, isAccepted, open: this.open });
    if (!isAccepted) {
      // Before its first byte is read: another worker may serve it.
      socket?.destroy();
      return;
    }
    socket.once('close', () => {
      this.open--;
      this.#reportSoon();
    });
    // As node:http does it.
    socket.allowHalfOpen = true;
    this.#users.get(port)?.(socket);
  }

  #reportSoon(): void {
    if (this.#timer !== undefined) return;
    this.#timer = clock
      .setTimeout(() => {
        this.#timer = undefined;
        this.#send({ kind: 'alive', open: this.open });
      }, REPORT_MS)
      .unref();
  }
}
