import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { handleBody, rejectBody } from '../../rpc/handle-body.ts';
import { bodyRefusalAnswer } from '../../jsonrpc/response.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import { rejectionOf } from '../../jsonrpc/rejection-of.ts';
import { sentBytes } from '../../limits/memory-budget.ts';
import type { Network } from '../../networks/network.ts';
import { Cancellation } from '../../upstreams/transport/cancellation.ts';
import { SocketSubscriptions } from '../../subscriptions/socket-subscriptions.ts';
import { closeReasonFor, closeReasons, closeReasonOfError, type CloseReason, type DrainReason } from './close-codes.ts';
import { Notifications } from './notifications.ts';
import { contextOf, type SessionOptions } from './session-options.ts';
import { FragmentedMessage } from './fragmented-message.ts';

/** How often a caller is pinged, and how long it may then stay silent. geth's numbers. */
const PING_INTERVAL_MS = 30_000;
/** While more than this is unread, no new calls are begun: a caller that reads leaves less. */
const MAX_NORMAL_UNREAD_BYTES = 1_000_000;

/** One WebSocket of a caller. Its messages are answered side by side, each answer as it comes. */
export class Session {
  readonly #socket: WebSocket;
  readonly #connection: Socket;
  readonly #parts: SessionOptions;
  #network: Network;
  #inFlight = 0;
  /** Read already when it turned out that they have to wait: as many as one read from the network had in it. */
  readonly #waiting: Buffer[] = [];
  readonly #caller = new Cancellation();
  #drainReason: DrainReason | undefined;
  #closeReason: string | undefined;
  #pingAt = performance.now() + PING_INTERVAL_MS;
  #lastPing = { read: 0, taken: 0, unread: 0 };
  readonly #unfinished: FragmentedMessage;
  readonly #notifications: Notifications;
  readonly #subscriptions: SocketSubscriptions;

  /**
   * @param connection the connection under the socket
   * @param onClosed hears once, when the socket is no more, of an ending's name, or `caller`, `message-too-large`, `bad-frame`
   */
  constructor(socket: WebSocket, connection: Socket, parts: SessionOptions, onClosed: (reason: string) => void) {
    this.#socket = socket;
    this.#connection = connection;
    this.#parts = parts;
    this.#network = parts.network;
    this.#network.use.begin();
    this.#unfinished = new FragmentedMessage(connection, parts.memory);
    const close = this.close.bind(this);
    this.#notifications = new Notifications(socket, connection, parts.memory, close);
    this.#subscriptions = new SocketSubscriptions({
      subscriptions: parts.network.subscriptions,
      keySessions: parts.keySessions,
      max: parts.subscriptionsPerKey,
      send: this.#notifications.send.bind(this.#notifications),
      end: close,
    });
    // A binary message is taken for text, as geth does; a Buffer, since that is ws' default for both.
    socket.on('message', (data) => {
      this.#unfinished.finished();
      this.#receive(data as Buffer);
    });
    // ws has queued the pong already: a caller may not fill our memory with those either.
    socket.on('pong', (data) => {
      this.#unfinished.countControlFrame(data);
    });
    socket.on('ping', (data) => {
      this.#unfinished.countControlFrame(data);
      if (this.#hasTooMuchUnread()) this.close('slow-reader');
    });
    // What is wrong with a frame ws tells the caller by itself, with 1002, 1007 or 1009.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#closeReason ??= closeReasonOfError(error);
    });
    socket.on('close', () => {
      this.#waiting.length = 0;
      this.#unfinished.release();
      this.#notifications.drained();
      this.#subscriptions.close();
      this.#caller.cancel();
      onClosed(this.#closeReason ?? 'caller');
      this.#network.use.end();
    });
    connection.on('drain', () => {
      this.#notifications.drained();
      this.#proceed();
    });
  }

  /** To be called a few times a second. @param now as `performance.now()` has it */
  tick(now: number): void {
    this.#recheckPermissions();
    this.#subscriptions.recheckPermissions();
    const fault = this.#unfinished.check(now, this.#socket.isPaused);
    if (fault !== undefined) this.close(fault);
    if (now < this.#pingAt || !this.#isOpen()) return;
    this.#pingAt = now + PING_INTERVAL_MS;
    if (!this.#isAlive()) {
      this.close('silent');
      return;
    }
    this.#socket.ping();
    this.#lastPing = {
      read: this.#connection.bytesRead,
      taken: sentBytes(this.#connection),
      unread: this.#socket.bufferedAmount,
    };
  }

  /** Whoever could not come in any more shall not stay. */
  #recheckPermissions(): void {
    const { caller, keySessions } = this.#parts;
    try {
      keySessions.access.entry?.check(caller);
    } catch (error) {
      this.close(closeReasonFor(error));
    }
  }

  get network(): Network {
    return this.#network;
  }

  /** From the next message on, the network is as its file says now. */
  moveTo(network: Network): void {
    network.use.begin();
    this.#network.use.end();
    // Another chain has come in its place.
    if (network.subscriptions !== this.#network.subscriptions) this.close('missed-blocks');
    this.#network = network;
  }

  /** Takes no more messages, answers those that came, then ends. */
  drain(reason: DrainReason): void {
    this.#drainReason ??= reason;
    this.#proceed();
  }

  /** Ends at once: answers under way are dropped. */
  close(reason: CloseReason): void {
    if (!this.#isOpen()) return;
    this.#closeReason ??= reason;
    this.#waiting.length = 0;
    const closeFrame = closeReasons[reason];
    if (closeFrame === undefined) this.#socket.terminate();
    else this.#socket.close(closeFrame.code, closeFrame.text);
    // Else the caller's own close frame would never be read.
    this.#socket.resume();
  }

  #receive(message: Buffer): void {
    if (!this.#isOpen()) return;
    this.#network.sockets.received();
    if (this.#drainReason !== undefined) {
      const { keySessions, batch } = this.#parts;
      const rejection = new RpcError(this.#drainReason === 'stopping' ? 'stopping' : 'unknown-network');
      const response = rejectBody(message, rejection, { network: this.#network, access: keySessions.access }, batch);
      if (response !== undefined) this.#send(response.body);
      return;
    }
    if (this.#canBegin()) {
      void this.#handle(message);
      return;
    }
    // Not refused, since a client that sends each call by itself would see its 101st fail: TCP makes it wait.
    this.#waiting.push(message);
    this.#socket.pause();
  }

  #canBegin(): boolean {
    return this.#inFlight < this.#parts.messagesMax && this.#socket.bufferedAmount <= MAX_NORMAL_UNREAD_BYTES;
  }

  #proceed(): void {
    while (this.#waiting.length > 0 && this.#canBegin()) void this.#handle(this.#waiting.shift() as Buffer);
    if (this.#waiting.length > 0) return;
    if (this.#drainReason !== undefined && this.#inFlight === 0) this.close(this.#drainReason);
    else if (this.#socket.isPaused) this.#socket.resume();
  }

  /** Never rejects. */
  async #handle(message: Buffer): Promise<void> {
    const { batch, memory, metrics, requestId, log } = this.#parts;
    const context = contextOf(this.#parts, this.#network, this.#subscriptions, this.#caller);
    let reservedBytes: number | undefined;
    this.#inFlight++;
    context.network.use.begin();
    try {
      memory.beginRequest(message.length);
      reservedBytes = message.length;
      const response = await handleBody(message, context, batch);
      context.logEntry?.write();
      if (response !== undefined) this.#send(response.body);
    } catch (error) {
      const rejection = rejectionOf(error, requestId, log);
      metrics.rejected(rejection.reason);
      context.logEntry?.write(rejection.reason);
      this.#send(bodyRefusalAnswer(rejection).body);
    } finally {
      if (reservedBytes !== undefined) memory.endRequest(reservedBytes);
      context.network.use.end();
      this.#inFlight--;
      this.#subscriptions.startNotifications(context);
      this.#proceed();
    }
  }

  /** Where the caller has left there is nobody to tell. */
  #send(body: string | Buffer): void {
    if (!this.#isOpen()) return;
    // Looked at before, so that one answer of any size gets through.
    if (this.#hasTooMuchUnread()) this.close('slow-reader');
    else this.#socket.send(body, { binary: false });
  }

  #isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  #hasTooMuchUnread(): boolean {
    return this.#socket.bufferedAmount > this.#parts.unreadMaxBytes;
  }

  /** Whether anything was heard of the caller since the last ping. */
  #isAlive(): boolean {
    if (this.#connection.bytesRead !== this.#lastPing.read) return true;
    // Our ping stands behind a large answer, which the caller is taking.
    if (this.#lastPing.unread > 0 && sentBytes(this.#connection) !== this.#lastPing.taken) return true;
    // We do not listen, because of calls under way; they have their own time limit.
    return this.#socket.isPaused && this.#socket.bufferedAmount <= MAX_NORMAL_UNREAD_BYTES;
  }
}
