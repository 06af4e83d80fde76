import { WebSocket } from 'ws';
import { errorCode } from '../../config/log.ts';
import type { Cancellation, Cancelled } from './cancellation.ts';
import type { HttpResponse } from './http-upstream.ts';
import { responseId } from './response-id.ts';
import { TimedOut, UpstreamFailure } from './upstream-response.ts';
import { PendingCalls } from './pending-calls.ts';

export interface WebSocketConnectionOptions {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes of one reply. A larger one ends the connection: its beginning is not shown to us, so nobody knows whose it is. */
  readonly responseMaxBytes: number;
  readonly times: ConnectionTimes;
  /** What the node tells without being asked, as it came. */
  readonly onNotification?: (body: Buffer) => void;
}

export interface ConnectionTimes {
  /** From the start until calls can be sent. Each call's own limit runs all the while. */
  readonly handshakeMs: number;
  /** Between one look at whether the other end is there and the next. */
  readonly pingMs: number;
  /** For the pong after that. */
  readonly pongMs: number;
  /** Without a call, or a notification. */
  readonly idleMs: number;
}

/** An upstream that takes so much and reads none of it has gone. */
const MAX_UNSENT_BYTES = 16_000_000;

/** Older ones are never going to be answered. */
const MAX_ABANDONED = 1_000;

const EMPTY = Buffer.alloc(0);

/** One WebSocket from handshake to end, and the calls that wait for replies over it. */
export class WebSocketConnection {
  readonly #socket: WebSocket;
  readonly #times: ConnectionTimes;
  readonly #onNotification: ((body: Buffer) => void) | undefined;
  readonly #onEnd: (hasOpened: boolean) => void;
  readonly #pending = new PendingCalls((id, reason) => {
    this.#abandon(id, reason);
  });
  /** Calls that nobody waits for any more, whose replies may still come. */
  readonly #abandoned = new Set<number>();
  #heartbeat: NodeJS.Timeout | undefined;
  #pongTimer: NodeJS.Timeout | undefined;
  #hasOpened = false;
  #hasEnded = false;
  #usedAt = 0;

  /** @param onEnd called once; `hasOpened`: the handshake had succeeded */
  constructor(
    { url, headers, responseMaxBytes, times, onNotification }: WebSocketConnectionOptions,
    onEnd: (hasOpened: boolean) => void,
  ) {
    this.#times = times;
    this.#onNotification = onNotification;
    this.#onEnd = onEnd;
    // Compression costs more CPU and memory than it saves between servers (ws README, "WebSocket compression").
    this.#socket = new WebSocket(url, {
      headers,
      perMessageDeflate: false,
      maxPayload: responseMaxBytes,
      handshakeTimeout: times.handshakeMs,
    });
    this.#socket
      .on('open', () => {
        this.#opened();
      })
      .on('message', (data) => {
        // ws' default for text too.
        this.#received(data as Buffer);
      })
      .on('pong', () => {
        this.#stopPongTimer();
      })
      .on('unexpected-response', (_, { statusCode = 0 }) => {
        this.#handshakeRejected(statusCode);
      })
      .on('error', (error) => {
        this.#end(this.#failureFrom(error));
      })
      .on('close', (code) => {
        this.#end(new UpstreamFailure('transport', `closed with ${code}`, this.#hasOpened));
      });
  }

  /** Calls may be given to it: it is open or about to open. */
  get isUsable(): boolean {
    return this.#socket.readyState === WebSocket.OPEN || this.#socket.readyState === WebSocket.CONNECTING;
  }

  /**
   * @param id the id in the body
   * @param cancellation breaks it off: the reply is dropped when it comes
   * @throws UpstreamFailure, Cancelled
   */
  exchange(body: string, timeLimitMs: number, id: number, cancellation?: Cancellation): Promise<HttpResponse> {
    this.#usedAt = performance.now();
    const response = this.#pending.add(body, timeLimitMs, id, cancellation);
    if (this.#socket.bufferedAmount > MAX_UNSENT_BYTES) this.#end(new UpstreamFailure('transport', 'does not read'));
    else if (this.#hasOpened) this.#socket.send(body);
    return response;
  }

  /** Breaks off what is under way. */
  close(): void {
    this.#end(new UpstreamFailure('transport', 'closed'));
  }

  #opened(): void {
    this.#hasOpened = true;
    for (const body of this.#pending.bodies()) this.#socket.send(body);
    this.#heartbeat = setInterval(() => {
      const isIdle = this.#pending.size === 0 && performance.now() - this.#usedAt >= this.#times.idleMs;
      if (isIdle) this.#socket.close(1000);
      else this.#ping();
    }, this.#times.pingMs);
  }

  /** An error without an id, and words that are no JSON-RPC, can only be matched when one call is without a reply. */
  #received(body: Buffer): void {
    const id = responseId(body);
    if (id === 'notification') {
      this.#usedAt = performance.now();
      this.#onNotification?.(body);
    } else if (id !== undefined) this.#settle(id, { status: 200, body });
    else if (this.#pending.size === 1 && this.#abandoned.size === 0)
      for (const only of this.#pending.ids()) this.#settle(only, { status: 200, body });
  }

  /** The handshake was answered as plain HTTP: the status is the reply to all calls. */
  #handshakeRejected(status: number): void {
    for (const id of this.#pending.ids()) this.#settle(id, { status, body: EMPTY });
    this.close();
  }

  #settle(id: number, response: HttpResponse): void {
    if (this.#abandoned.size > 0) this.#abandoned.delete(id);
    this.#pending.settle(id, response);
  }

  /** It took too long, or the connection is dead without having told us: the next ping shows which. */
  #abandon(id: number, reason: TimedOut | Cancelled): void {
    if (!this.#hasOpened) return;
    this.#abandoned.add(id);
    const [oldest] = this.#abandoned;
    if (oldest !== undefined && this.#abandoned.size > MAX_ABANDONED) this.#abandoned.delete(oldest);
    if (reason instanceof TimedOut) this.#ping();
  }

  #ping(): void {
    if (this.#pongTimer !== undefined || this.#hasEnded || this.#socket.readyState !== WebSocket.OPEN) return;
    this.#socket.ping();
    this.#pongTimer = setTimeout(() => {
      this.#end(new UpstreamFailure('transport', 'no pong', true));
    }, this.#times.pongMs);
  }

  #stopPongTimer(): void {
    clearTimeout(this.#pongTimer);
    this.#pongTimer = undefined;
  }

  #failureFrom(error: Error): UpstreamFailure {
    const code = errorCode(error);
    const isTooLarge = code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
    if (isTooLarge && this.#pending.size === 1) return new UpstreamFailure('malformed', 'the reply is too large');
    // Sent again, the call with the large reply would end the next connection too.
    return new UpstreamFailure('transport', code, this.#hasOpened && !isTooLarge);
  }

  #end(failure: UpstreamFailure): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearInterval(this.#heartbeat);
    this.#stopPongTimer();
    this.#socket.terminate();
    this.#onEnd(this.#hasOpened);
    this.#pending.fail(failure);
  }
}
