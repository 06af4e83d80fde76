import type { Socket } from 'node:net';
import type { buildConnector, Client, Dispatcher } from 'undici';
import { FramingFlood, isFramingFlood, type HttpExchange } from './http-exchange.ts';
import { UndiciClient } from './library-internals.ts';

/** A request of a pool. The pool wraps its handler, so the exchange is a member too. */
export interface ExchangeOptions extends Dispatcher.DispatchOptions {
  readonly exchange: HttpExchange;
}

/**
 * Client of one connection of a pool. It ends the connection if the upstream sends more framing than a body needs. undici
 * skips chunk extensions, reason phrases and empty lines without an event, so that only the socket shows them.
 */
export class FramingClient extends UndiciClient {
  #exchange: HttpExchange | undefined;
  #socket: Socket | undefined;
  /** `#parsedBytes` when the exchange began. */
  #parsedBefore = 0;

  /** @param options of the pool, whose `connect` is a function */
  constructor(origin: URL, options: Client.Options) {
    const connect = options.connect as buildConnector.connector;
    super(origin, {
      ...options,
      connect: (target, callback) => {
        connect(target, (...result) => {
          if (result[0] === null) this.#watch(result[1]);
          callback(...result);
        });
      },
    });
    // Between two exchanges: a reference would keep the last body. This is before the pool's own listener, which may dispatch
    // the next request. Else the last body would count as framing at the next `readable`, also at FIN.
    this.on('drain', () => {
      this.#exchange = undefined;
      this.#parsedBefore = this.#parsedBytes;
    });
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.#exchange = (options as ExchangeOptions).exchange;
    this.#parsedBefore = this.#parsedBytes;
    return super.dispatch(options, handler);
  }

  /** Watches a socket. The listener runs before undici's, which parses what has arrived. */
  #watch(socket: Socket): void {
    this.#socket = socket;
    this.#parsedBefore = this.#parsedBytes;
    socket.on('readable', () => {
      const { receivedBytes = 0 } = this.#exchange ?? {};
      const framingBytes = this.#parsedBytes - this.#parsedBefore - receivedBytes;
      if (!isFramingFlood(framingBytes, receivedBytes)) return;
      this.#exchange?.fail(new FramingFlood());
      // Between two exchanges, nothing fails.
      socket.destroy();
    });
  }

  get #parsedBytes(): number {
    return this.#socket === undefined ? 0 : this.#socket.bytesRead - this.#socket.readableLength;
  }
}
