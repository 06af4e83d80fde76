import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import { clock, type Timer } from '../../clock/clock.ts';
import { turnsFor } from '../../admission/account.ts';
import { Deadlines } from '../../admission/deadlines.ts';
import { InFlightMap } from '../../collections/in-flight-map.ts';
import { errorCode } from '../../config/log.ts';
import { OwnedSteps } from '../../event-loop/owned-steps.ts';
import { IncomingMessageBytes } from '../../memory/incoming-message-bytes.ts';
import type { MemoryBudget } from '../../memory/memory-budget.ts';
import type { Cancellation } from './cancellation.ts';
import type { ConnectOptions, Connector } from './connect/connector.ts';
import { FramingFlood, isFramingFlood, MAX_FRAMING_SHARE, type HttpResponse } from './http-exchange.ts';
import { incompleteBytesOf } from './library-internals.ts';
import { responseId, responseIdInSteps, type ResponseId } from './response-envelope.ts';
import { failureOfStatus, ResponseTooLarge, TimedOut, UpstreamFailure } from './upstream-response.ts';
import { PendingRequest } from './pending-request.ts';
import type { SentRequest } from './transport.ts';

export interface WebSocketConnectionOptions {
  /** Name of the upstream. */
  readonly name: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls?: ConnectOptions['tls'];
  /** Connector; undefined: without a proxy. */
  readonly connector?: Connector | undefined;
  /** Limit for one response. A larger one ends the connection: ws does not deliver its start, which has the id. */
  readonly responseMaxBytes: number;
  /** Accounts responses while they arrive; undefined: they are not accounted. */
  readonly memory?: MemoryBudget | undefined;
  readonly times: ConnectionTimes;
  /** Listener, called with the bytes of each notification. */
  readonly onNotification?: (body: Buffer) => void;
}

export interface ConnectionTimes {
  /** Time limit for the handshake. The time limits of waiting calls include it. */
  readonly handshakeMs: number;
  /** Interval between pings. */
  readonly pingMs: number;
  /** Time limit for the pong. */
  readonly pongMs: number;
  /** Time without calls and notifications after which the connection is closed. */
  readonly idleMs: number;
}

/** Unsent bytes at which the upstream has stopped reading: the connection ends. */
const MAX_UNSENT_BYTES = 16_000_000;

/** The oldest calls above this number will not get a response any more. */
const MAX_ABANDONED_CALLS = 1_000;

/**
 * Limits for notifications: bytes per second, and at once. A hash counts as 2 kB, a header as 16 kB at least, because it costs
 * more CPU. These are 4,000 hashes or 500 headers per second; the largest public networks have hundreds, and 100.
 */
const NOTIFICATION_BYTES_PER_MS = 8_000;
const NOTIFICATION_BURST_BYTES = 16_000_000;
const HASH_NOTIFICATION = { maxBytes: 400, countedBytes: 2_000 } as const;
const MIN_HEADER_BYTES = 16_000;

/** Framing that is always permitted: a node may send pings once a second. */
const FRAMING_BYTES_PER_MS = 1;

const EMPTY = Buffer.alloc(0);

/** The upstream has sent more notifications than the limit: the connection ends. */
export class NotificationFlood extends UpstreamFailure {
  constructor() {
    super('transport', 'too many notifications');
  }
}

/**
 * One WebSocket to an upstream: sends calls, matches the responses by id, and detects dead connections by pings. It
 * does not reconnect.
 */
export class WebSocketConnection {
  readonly #socket: WebSocket;
  /** Name of the turns in which large messages are read: their callers are unknown. */
  readonly #owner: string;
  readonly #times: ConnectionTimes;
  readonly #onNotification: ((body: Buffer) => void) | undefined;
  readonly #onEnd: (hasOpened: boolean, failure: UpstreamFailure) => void;
  /** Pending requests by id. */
  readonly #pending = new InFlightMap<number, PendingRequest<HttpResponse>>();
  readonly #deadlines = new Deadlines();
  /** Ended calls whose responses may still arrive. */
  readonly #abandonedIds = new Set<number>();
  /** Messages behind a large one that is being read; undefined: none is. ws delivers those that it has even while it is paused. */
  #waiting: Buffer[] | undefined;
  #incoming: IncomingMessageBytes | undefined;
  #heartbeat: Timer | undefined;
  #pongTimer: Timer | undefined;
  #hasOpened = false;
  #hasEnded = false;
  #usedAt = 0;
  #notificationBytes = 0;
  #notifiedAt = 0;
  /** Bytes that ws has read beyond those of complete messages, less the share that these may have. */
  #framingBytes = 0;

  /** @param onEnd called once; `hasOpened`: whether the handshake succeeded */
  constructor(
    { name, url, headers, tls, connector, responseMaxBytes, memory, times, ...events }: WebSocketConnectionOptions,
    onEnd: (hasOpened: boolean, failure: UpstreamFailure) => void,
  ) {
    this.#owner = turnsFor(undefined, name);
    this.#times = times;
    this.#onNotification = events.onNotification;
    this.#onEnd = onEnd;
    // Compression costs more CPU and memory than it saves between servers (ws README, "WebSocket compression").
    this.#socket = new WebSocket(url, {
      ...tls,
      ...(connector !== undefined && { createConnection: connector.connect as never }),
      headers,
      perMessageDeflate: false,
      maxPayload: responseMaxBytes,
      handshakeTimeout: times.handshakeMs,
    });
    this.#socket
      .on('open', () => {
        this.#handleOpen();
      })
      .on('upgrade', ({ socket }) => {
        // A listener for data makes the socket flow. ws adds its own before `open`, and before that puts back what was read.
        this.#socket.once('open', () => {
          this.#watchFraming(socket);
          if (memory !== undefined) this.#incoming = new IncomingMessageBytes(socket, memory);
        });
      })
      .on('message', (data) => {
        this.#framingBytes -= (1 + MAX_FRAMING_SHARE) * (data as Buffer).length;
        // ws delivers text messages as Buffers too.
        this.#handleMessage(data as Buffer);
      })
      .on('ping', () => {
        // Each costs a pong.
        if (this.#isFlood(MIN_HEADER_BYTES)) this.#end(new NotificationFlood());
      })
      .on('pong', () => {
        this.#stopPongTimer();
      })
      .on('unexpected-response', (_, { statusCode = 0 }) => {
        this.#rejectCalls(statusCode);
      })
      .on('error', (error) => {
        this.#end(this.#failureFrom(error));
      })
      .on('close', (code) => {
        this.#end(new UpstreamFailure('transport', `closed with ${code}`, this.#hasOpened));
      });
  }

  /** Whether the connection accepts calls: it is open or connecting. */
  get isUsable(): boolean {
    return this.#socket.readyState === WebSocket.OPEN || this.#socket.readyState === WebSocket.CONNECTING;
  }

  /** Sends a request at once. A response after its deadline or cancellation is ignored. @throws UpstreamFailure, Cancelled */
  send(request: SentRequest, cancellation?: Cancellation): Promise<HttpResponse> {
    this.#usedAt = clock.now();
    const pending = new PendingRequest<HttpResponse>(request, cancellation, this.#deadlines, this.#abandoned);
    this.#pending.set(request.id, pending);
    if (this.#socket.bufferedAmount > MAX_UNSENT_BYTES) this.#end(new UpstreamFailure('transport', 'stopped reading'));
    else if (this.#hasOpened) this.#socket.send(request.body);
    return pending.response;
  }

  /** Ends all calls in flight with a failure. */
  close(): void {
    this.#end(new UpstreamFailure('transport', 'closed'));
  }

  #handleOpen(): void {
    this.#hasOpened = true;
    for (const { request } of this.#pending.values()) this.#socket.send(request.body);
    this.#heartbeat = clock.setInterval(() => {
      const isIdle = this.#pending.size === 0 && clock.now() - this.#usedAt >= this.#times.idleMs;
      if (isIdle) this.#socket.close(1000);
      else this.#ping();
    }, this.#times.pingMs);
  }

  #handleMessage(body: Buffer): void {
    if (this.#hasEnded) return;
    if (this.#waiting !== undefined) {
      this.#waiting.push(body);
      return;
    }
    const id = responseId(body);
    if (id === 'unread') void this.#readInSteps(body);
    else this.#deliver(body, id);
  }

  /** Reads a large message. The next ones wait, so that notifications keep their order and a connection has one such message. */
  async #readInSteps(body: Buffer): Promise<void> {
    const waiting: Buffer[] = (this.#waiting = []);
    this.#socket.pause();
    const id = await responseIdInSteps(body, new OwnedSteps(this.#owner));
    this.#waiting = undefined;
    this.#socket.resume();
    if (!this.#hasEnded) this.#deliver(body, id);
    // One of them may be large, too: the rest waits for it.
    for (const next of waiting) this.#handleMessage(next);
  }

  /**
   * A message without an id, such as an error, is only matched if exactly one call waits for a response. After a text that
   * is no JSON object, nothing shows which call it was for: all fail, rather than one at its time limit.
   */
  #deliver(body: Buffer, id: ResponseId): void {
    this.#incoming?.finished();
    if (id === 'notification') {
      this.#usedAt = clock.now();
      if (this.#isFlood(body.length)) this.#end(new NotificationFlood());
      else this.#onNotification?.(body);
    } else if (id === 'not-json') this.#settleAll({ status: 200, body });
    else if (id !== undefined) this.#settle(id, { status: 200, body });
    else if (this.#pending.size === 1 && this.#abandonedIds.size === 0) this.#settleAll({ status: 200, body });
  }

  /** Control frames and empty fragments have no limit in ws. */
  #watchFraming(socket: Socket): void {
    let lastBytes = 0;
    let framedAt = clock.now();
    // Before ws reads the bytes.
    socket.prependListener('data', ({ length }: Buffer) => {
      const incomplete = incompleteBytesOf(this.#socket);
      const now = clock.now();
      this.#framingBytes += lastBytes - (now - framedAt) * FRAMING_BYTES_PER_MS;
      framedAt = now;
      if (incomplete === 0) this.#framingBytes = Math.max(0, this.#framingBytes);
      lastBytes = length;
      if (isFramingFlood(this.#framingBytes - incomplete, incomplete)) this.#end(new FramingFlood());
    });
  }

  #isFlood(bytes: number): boolean {
    const now = clock.now();
    const read = this.#notificationBytes - (now - this.#notifiedAt) * NOTIFICATION_BYTES_PER_MS;
    this.#notifiedAt = now;
    const { maxBytes, countedBytes } = HASH_NOTIFICATION;
    const counted = bytes <= maxBytes ? countedBytes : Math.max(bytes, MIN_HEADER_BYTES);
    this.#notificationBytes = Math.max(read, 0) + counted;
    return this.#notificationBytes > NOTIFICATION_BURST_BYTES;
  }

  /** The upstream responded to the handshake with an HTTP status: it becomes the response to all waiting calls. */
  #rejectCalls(status: number): void {
    this.#settleAll({ status, body: EMPTY });
    const failure = failureOfStatus[status] ?? 'transport';
    this.#end(new UpstreamFailure(failure, `HTTP ${status} without a JSON-RPC response`));
  }

  #settleAll(response: HttpResponse): void {
    for (const id of this.#pending.keys()) this.#settle(id, response);
  }

  #settle(id: number, response: HttpResponse): void {
    if (this.#abandonedIds.size > 0) this.#abandonedIds.delete(id);
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.settle(response);
  }

  /** Sends a ping after a timeout: it shows whether the connection is dead or only the call was slow. */
  readonly #abandoned = ({ request: { id } }: PendingRequest<HttpResponse>, reason: Error): void => {
    this.#pending.delete(id);
    if (!this.#hasOpened) return;
    this.#abandonedIds.add(id);
    const [oldest] = this.#abandonedIds;
    if (oldest !== undefined && this.#abandonedIds.size > MAX_ABANDONED_CALLS) this.#abandonedIds.delete(oldest);
    if (reason instanceof TimedOut) this.#ping();
  };

  #ping(): void {
    if (this.#pongTimer !== undefined || this.#hasEnded || this.#socket.readyState !== WebSocket.OPEN) return;
    this.#socket.ping();
    this.#pongTimer = clock.setTimeout(() => {
      this.#end(new UpstreamFailure('transport', 'no pong', true));
    }, this.#times.pongMs);
  }

  #stopPongTimer(): void {
    clock.clearTimeout(this.#pongTimer);
    this.#pongTimer = undefined;
  }

  #failureFrom(error: Error): UpstreamFailure {
    const code = errorCode(error);
    const isTooLarge = code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
    if (isTooLarge && this.#pending.size === 1) return new ResponseTooLarge();
    // Not marked as stale if too large: the call would be sent again, and end the next connection too.
    return new UpstreamFailure('transport', code, this.#hasOpened && !isTooLarge);
  }

  #end(failure: UpstreamFailure): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    failure.isUnsent = !this.#hasOpened;
    clock.clearInterval(this.#heartbeat);
    this.#stopPongTimer();
    this.#socket.terminate();
    this.#incoming?.finished();
    this.#onEnd(this.#hasOpened, failure);
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const request of pending) request.fail(failure);
  }
}
