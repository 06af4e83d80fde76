import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { clock } from '../../clock/clock.ts';
import type { CallerAccount } from '../../admission/caller-account.ts';
import type { KeyAccess } from '../../auth/key-access.ts';
import { checkEntry, type Caller } from '../../auth/permissions/entry-permissions.ts';
import { handleBody, rejectBody } from '../../call/handle-body.ts';
import type { Body } from '../../jsonrpc/buffer-list.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import { rejectionOf } from '../../jsonrpc/rejection-of.ts';
import { bodyRejectionResponse } from '../../jsonrpc/response.ts';
import type { CallContext, Network } from '../../call/call.ts';
import { openVerification } from '../../call/verification.ts';
import type { ProcessBounds } from '../../config/process-bounds.ts';
import { Reservation } from '../../memory/reservation.ts';
import { openAccessLogEntry } from '../../observability/access-log.ts';
import { printersOf } from '../../observability/call-record.ts';
import { openDecisionLog } from '../../observability/decision-log.ts';
import { Cancellation } from '../../upstreams/transport/cancellation.ts';
import { type OpenSubscriptions, SocketSubscriptions } from '../../subscriptions/socket-subscriptions.ts';
import { closeReasonFor, closeReasons, closeReasonOfError, type CloseReason, type DrainReason } from './close-codes.ts';
import { sentBytes } from '../http/node-internals.ts';
import { DECODED_FACTOR, REQUEST_BYTES, type RequestOptions } from '../http/request-options.ts';
import { SocketBuffers } from './socket-buffers.ts';
import { SocketFrames } from './socket-frames.ts';

/** Ping interval, as in geth: a client without traffic for one interval after a ping is disconnected. */
const PING_INTERVAL_MS = 30_000;
/** Maximum pings and pongs of a client in one interval: 16 a second. */
const MAX_CONTROL_FRAMES = 500;
/** Unread bytes above which no further messages are handled. A client that reads leaves less. */
const PAUSE_ABOVE_UNREAD_BYTES = 1_000_000;
/** Memory of a message that waits, besides its bytes. */
const WAITING_MESSAGE_BYTES = 200;

/** Rejected messages in a row, beyond which each 16th one delays the messages that follow: `Retry-After` is 1 s too. */
const MAX_REJECTED = 100;
const REJECTED_PER_DELAY = 16;
const REJECTED_DELAY_MS = 1_000;

export interface SessionOptions extends Omit<RequestOptions, 'networks' | 'authenticator' | 'proxies'> {
  readonly network: Network;
  readonly caller: Caller;
  /** The origin of the gateway that the caller requested. */
  readonly origin: string;
  /** Header X-Gatehouse-Verify of the upgrade. */
  readonly verify: string | readonly string[] | undefined;
  /** Sessions that all sockets of the key share: its permissions, which may change while a socket is open, and open counts. */
  readonly keySessions: OpenSubscriptions & { readonly access: KeyAccess; drain(reason: DrainReason): void };
  readonly requestId: string;
  readonly bounds: ProcessBounds;
}

/** One WebSocket of a client: its messages in parallel, backpressure, pings and the close. */
export class Session {
  readonly #socket: WebSocket;
  readonly #connection: Socket;
  readonly #options: SessionOptions;
  #network: Network;
  readonly #frames: SocketFrames;
  readonly #buffers: SocketBuffers;
  readonly #subscriptions: SocketSubscriptions;
  readonly #caller = new Cancellation();

  #inFlight = 0;
  /** Reservations of the messages in flight. */
  readonly #reservations = new Set<Reservation>();
  /** Messages that were read before reading paused: those of one piece of a read. */
  readonly #pending: Buffer[] = [];
  /** A message whose response is there at once calls `#handlePending` again. */
  #isHandlingPending = false;
  /** Rejected messages in a row. */
  #rejected = 0;
  #isDelayed = false;

  #drainReason: DrainReason | undefined;
  #closeReason: string | undefined;

  /** Pings and pongs of the client since the last ping of the gateway. */
  #controlFrames = 0;
  #pingAt = clock.now() + PING_INTERVAL_MS;
  #lastPing = { bytesRead: 0, bytesSent: 0, unreadBytes: 0 };

  /**
   * @param connection the connection under the socket
   * @param onClosed called once, after the close, with a `CloseReason`, `caller`, `message-too-large` or `bad-frame`
   */
  constructor(socket: WebSocket, connection: Socket, options: SessionOptions, onClosed: (reason: string) => void) {
    this.#socket = socket;
    this.#connection = connection;
    this.#options = options;
    this.#network = options.network;
    this.#network.use.begin();
    const close = this.close.bind(this);
    const { memory, keySessions } = options;
    const { account } = keySessions.access;
    this.#buffers = new SocketBuffers(socket, connection, { memory, account, close });
    this.#frames = new SocketFrames(socket, connection, this.#buffers, keySessions);
    this.#subscriptions = new SocketSubscriptions({
      subscriptions: options.network.subscriptions,
      keySessions,
      limiter: options.limiter,
      session: this,
      max: options.bounds.subscriptionsPerKey,
      kept: { memory, valuesMax: options.bounds.filterValuesPerKey },
      send: this.#buffers.notify.bind(this.#buffers),
      end: close,
    });
    // Binary messages are handled as text, as in geth. ws passes both kinds as a Buffer.
    socket.on('message', (data) => {
      this.#frames.messageEnded();
      this.#receive(data as Buffer);
    });
    socket.on('ping', this.#countControlFrame).on('pong', this.#countControlFrame);
    // After an invalid frame, ws itself closes the socket with 1002, 1007 or 1009.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#closeReason ??= closeReasonOfError(error);
    });
    socket.on('close', () => {
      this.#pending.length = 0;
      this.#buffers.release();
      this.#subscriptions.close();
      this.#caller.cancel();
      onClosed(this.#closeReason ?? 'caller');
      this.#network.use.end();
    });
    connection.on('drain', () => {
      this.#buffers.drained();
      this.#handlePending();
    });
  }

  /** Checks the session. To be called every `TICK_MS`. @param now by clock.now() */
  tick(now: number): void {
    this.#recheckPermissions();
    this.#subscriptions.recheckPermissions();
    this.#buffers.check();
    const reason = this.#frames.checkMessage(now) ?? this.#ping(now);
    if (reason !== undefined) this.close(reason);
  }

  /** Sends a ping when one is due. @returns `silent` if there was no traffic since the last one */
  #ping(now: number): 'silent' | undefined {
    if (now < this.#pingAt) return undefined;
    this.#pingAt = now + PING_INTERVAL_MS;
    this.#controlFrames = 0;
    if (!this.#isAlive()) return 'silent';
    if (this.#isOpen()) this.#socket.ping();
    this.#lastPing = {
      bytesRead: this.#connection.bytesRead,
      bytesSent: sentBytes(this.#connection),
      unreadBytes: this.#socket.bufferedAmount,
    };
    return undefined;
  }

  /** Whether the client has sent or read anything since the last ping. */
  #isAlive(): boolean {
    if (this.#connection.bytesRead !== this.#lastPing.bytesRead) return true;
    // The ping is queued behind a large response, which the client is reading.
    if (this.#lastPing.unreadBytes > 0 && sentBytes(this.#connection) !== this.#lastPing.bytesSent) return true;
    // Reading is paused because of calls in progress, which have their own timeout.
    return this.#socket.isPaused && this.#socket.bufferedAmount <= PAUSE_ABOVE_UNREAD_BYTES;
  }

  /** Closes the socket if its caller would be rejected now. */
  #recheckPermissions(): void {
    const { caller, keySessions } = this.#options;
    try {
      checkEntry(keySessions.access.entry, caller);
    } catch (error) {
      this.close(closeReasonFor(error));
    }
  }

  get network(): Network {
    return this.#network;
  }

  /** Handles messages with the reloaded network from now on. */
  moveTo(network: Network): void {
    network.use.begin();
    this.#network.use.end();
    // Only a network on another chain has other subscriptions.
    if (network.subscriptions !== this.#network.subscriptions) this.close('missed-blocks');
    this.#network = network;
  }

  /** Rejects further messages, completes those received, then closes. */
  drain(reason: DrainReason): void {
    if (!this.#rejectsMessages) this.#drainReason = reason;
    this.#handlePending();
  }

  /** Closes at once, and drops the responses of calls in progress. */
  close(reason: CloseReason): void {
    if (!this.#isOpen()) return;
    // It is closed by a later call: while memory is high, the socket sends no further transaction.
    if (reason === 'memory-pressure' && [...this.#reservations].some(({ mustDeliver }) => mustDeliver)) return;
    this.#closeReason ??= reason;
    this.#pending.length = 0;
    const closeFrame = closeReasons[reason];
    // A close frame would wait behind what the client does not read, and its calls would go on until the client responds.
    const keepsMemory = reason === 'memory-pressure' && (this.#socket.bufferedAmount > 0 || this.#inFlight > 0);
    if (closeFrame === undefined || keepsMemory) this.#socket.terminate();
    else this.#socket.close(closeFrame.code, closeFrame.text);
    // Otherwise the client's close frame would not be read.
    this.#socket.resume();
  }

  /** ws has already queued the pong. A client that continues after the close frame is disconnected. */
  readonly #countControlFrame = (): void => {
    const excess = Math.floor(this.#controlFrames++ / MAX_CONTROL_FRAMES);
    if (excess > 1) this.#socket.terminate();
    else if (excess > 0) this.close('ping-flood');
  };

  #receive(message: Buffer): void {
    if (!this.#isOpen()) return;
    this.#network.metrics.socketReceived();
    if (this.#rejectsMessages) {
      this.#rejectMessage(message, new RpcError(this.#drainReason === 'stopping' ? 'stopping' : 'unknown-network'));
      return;
    }
    if (this.#canBegin()) {
      this.#handle(message);
      return;
    }
    // Reading pauses, so that TCP slows the client. Rejecting would fail calls beyond `socketMessagesMax`.
    this.#pending.push(message);
    this.#buffers.addMessages(message.length + WAITING_MESSAGE_BYTES);
    this.#socket.pause();
  }

  /** Whether further messages are rejected. Over its quota, a key gets the errors of its limit until its sockets are closed. */
  get #rejectsMessages(): boolean {
    return this.#drainReason !== undefined && this.#drainReason !== 'quota-used-up';
  }

  #canBegin(): boolean {
    if (this.#isDelayed && !this.#rejectsMessages) return false;
    const { socketMessagesMax } = this.#options.bounds;
    return this.#inFlight < socketMessagesMax && this.#socket.bufferedAmount <= PAUSE_ABOVE_UNREAD_BYTES;
  }

  #handlePending(): void {
    if (this.#isHandlingPending) return;
    this.#isHandlingPending = true;
    while (this.#pending.length > 0 && this.#canBegin()) {
      const message = this.#pending.shift() as Buffer;
      this.#buffers.addMessages(-message.length - WAITING_MESSAGE_BYTES);
      this.#handle(message);
    }
    this.#isHandlingPending = false;
    if (this.#pending.length > 0) return;
    if (this.#drainReason !== undefined && this.#inFlight === 0) this.close(this.#drainReason);
    else if (this.#socket.isPaused) this.#socket.resume();
  }

  #handle(message: Buffer): void {
    this.#inFlight++;
    void this.#respondTo(message);
  }

  /** Responds to a message, and never rejects. A response that needs no upstream is sent at once. */
  async #respondTo(message: Buffer): Promise<void> {
    const { account } = this.#options.keySessions.access;
    if (!account.requests.tryEnter(account) && !(await this.#waitForSlot(message, account))) {
      this.#inFlight--;
      this.#handlePending();
      return;
    }
    const context = this.#createContext();
    context.network.use.begin();
    this.#reservations.add(context.reservation);
    try {
      context.reservation.begin(REQUEST_BYTES + message.length * (1 + DECODED_FACTOR));
      const begun = handleBody(message, context, this.#options.batch);
      const response = begun instanceof Promise ? await begun : begun;
      context.logEntry?.write();
      if (response !== undefined) this.#send(response.body);
      this.#countRejected(response !== undefined && response.status >= 400);
    } catch (error) {
      this.#send(bodyRejectionResponse(this.#rejectionOf(error, context)).body);
      this.#countRejected(true);
    } finally {
      this.#reservations.delete(context.reservation);
      context.reservation.release();
      context.network.use.end();
      account.requests.leave(account);
      this.#inFlight--;
    }
    this.#subscriptions.startNotifications(context);
    this.#handlePending();
  }

  /** The context for the calls of one message, by which subscriptions identify the message that opened them. */
  #createContext() {
    const options = this.#options;
    const network = this.#network;
    const { limiter, requestId, tracing, log, recentCalls, keySessions } = options;
    const { access } = keySessions;
    const logEntry = openAccessLogEntry(options.accessLog, requestId);
    logEntry?.setNetwork(network.config.slug);
    logEntry?.setKey(access.record.id);
    const recorded = recentCalls?.of({ requestId, network: network.config.slug, key: access.record });
    return {
      ...{
        network,
        access,
        limiter,
        requestId,
        log,
        logEntry,
        caller: this.#caller,
        subscriptions: this.#subscriptions,
      },
      deadline: clock.now() + options.callTimeoutMs,
      printers: printersOf(tracing, logEntry, recorded, openDecisionLog(log, requestId, access.record.id)),
      reservation: new Reservation(options.memory, access.account),
      originOf: () => options.origin,
      // The permissions may have changed since the upgrade.
      verification: openVerification(network, access, access.capabilities.verify ? options.verify : undefined),
    };
  }

  #countRejected(isRejected: boolean): void {
    this.#rejected = isRejected ? this.#rejected + 1 : 0;
    if (this.#rejected <= MAX_REJECTED || this.#rejected % REJECTED_PER_DELAY > 0 || this.#isDelayed) return;
    this.#isDelayed = true;
    clock
      .setTimeout(() => {
        this.#isDelayed = false;
        this.#handlePending();
      }, REJECTED_DELAY_MS)
      .unref();
  }

  /** The rejection of a message as a whole, which is counted and logged. */
  #rejectionOf(error: unknown, { logEntry, network, access }: CallContext): RpcError {
    const { metrics, recentCalls, requestId, log } = this.#options;
    const rejection = rejectionOf(error, requestId, log);
    metrics.rejected(rejection.reason);
    recentCalls?.addRejection({ requestId, network: network.config.slug, key: access.record }, rejection);
    logEntry?.rejectedBy(rejection);
    logEntry?.write(rejection.reason);
    return rejection;
  }

  /** Waits until the key has fewer requests in flight. @returns false if the message is rejected, or the socket was closed */
  async #waitForSlot(message: Buffer, account: CallerAccount): Promise<boolean> {
    this.#buffers.addMessages(message.length + WAITING_MESSAGE_BYTES);
    try {
      await account.requests.wait(account, Infinity, this.#caller);
      return true;
    } catch (error) {
      if (error instanceof RpcError) this.#rejectMessage(message, error);
      return false;
    } finally {
      this.#buffers.addMessages(-message.length - WAITING_MESSAGE_BYTES);
    }
  }

  #rejectMessage(message: Buffer, rejection: RpcError): void {
    const { keySessions, limiter, batch, recentCalls, requestId } = this.#options;
    const request = { requestId, network: this.#network.config.slug, key: keySessions.access.record };
    recentCalls?.addRejection(request, rejection);
    const context = { network: this.#network, access: keySessions.access, limiter };
    const response = rejectBody(message, rejection, context, batch);
    if (response !== undefined) this.#send(response.body);
  }

  /** Sends nothing if the socket is closed. */
  #send(body: Body): void {
    if (!this.#isOpen()) return;
    // Checked before sending, so that a single response may exceed the limit. Notifications have a limit of their own.
    if (this.#buffers.responseBytes > this.#options.bounds.socketUnreadMaxBytes) this.close('slow-reader');
    else this.#buffers.send(body);
  }

  #isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }
}
