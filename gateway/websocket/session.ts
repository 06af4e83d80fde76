import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { handleBody, refuseBody } from '../handle-body.ts';
import { bodyRefusalAnswer } from '../jsonrpc/answer.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { refusalOf } from '../jsonrpc/refusal-of.ts';
import { takenBytes } from '../load.ts';
import type { ServedNetwork } from '../served-network.ts';
import { Cancellation } from '../upstream/cancellation.ts';
import { SocketSubscriptions } from '../subscriptions/socket-subscriptions.ts';
import { endingFor, endings, faultIn, type Ending, type Leaving } from './ending.ts';
import { Notifications } from './notifications.ts';
import { contextOf, type SessionParts } from './session-parts.ts';
import { UnfinishedMessage } from './unfinished-message.ts';

/** How often a caller is pinged, and how long it may then stay silent. geth's numbers. */
const PING_EVERY_MS = 30_000;
/** While more than this is unread, no new calls are begun: a caller that reads leaves less. */
const UNREAD_USUAL_BYTES = 1_000_000;

/** One WebSocket of a caller. Its messages are answered side by side, each answer as it comes. */
export class Session {
  readonly #socket: WebSocket;
  readonly #wire: Socket;
  readonly #parts: SessionParts;
  #network: ServedNetwork;
  #underWay = 0;
  /** Read already when it turned out that they have to wait: as many as one read from the network had in it. */
  readonly #waiting: Buffer[] = [];
  readonly #caller = new Cancellation();
  #leaving: Leaving | undefined;
  #endedBy: string | undefined;
  #pingAt = performance.now() + PING_EVERY_MS;
  #seen = { read: 0, taken: 0, unread: 0 };
  readonly #unfinished: UnfinishedMessage;
  readonly #notifications: Notifications;
  readonly #subscriptions: SocketSubscriptions;

  /**
   * @param wire the connection under the socket
   * @param onClosed hears once, when the socket is no more, of an ending's name, or `caller`, `message-too-large`, `bad-frame`
   */
  constructor(socket: WebSocket, wire: Socket, parts: SessionParts, onClosed: (reason: string) => void) {
    this.#socket = socket;
    this.#wire = wire;
    this.#parts = parts;
    this.#network = parts.network;
    this.#network.use.begin();
    this.#unfinished = new UnfinishedMessage(wire, parts.load);
    const end = this.end.bind(this);
    this.#notifications = new Notifications(socket, wire, parts.load, end);
    this.#subscriptions = new SocketSubscriptions({
      subscriptions: parts.network.subscriptions,
      holder: parts.holder,
      max: parts.subscriptionsPerKey,
      send: this.#notifications.send.bind(this.#notifications),
      end,
    });
    // A binary message is taken for text, as geth does; a Buffer, since that is ws' default for both.
    socket.on('message', (data) => {
      this.#unfinished.finished();
      this.#receive(data as Buffer);
    });
    // ws has queued the pong already: a caller may not fill our memory with those either.
    socket.on('pong', (data) => {
      this.#unfinished.passed(data);
    });
    socket.on('ping', (data) => {
      this.#unfinished.passed(data);
      if (this.#leavesTooMuchUnread()) this.end('slow-reader');
    });
    // What is wrong with a frame ws tells the caller by itself, with 1002, 1007 or 1009.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#endedBy ??= faultIn(error);
    });
    socket.on('close', () => {
      this.#waiting.length = 0;
      this.#unfinished.release();
      this.#notifications.taken();
      this.#subscriptions.close();
      this.#caller.breakOff();
      onClosed(this.#endedBy ?? 'caller');
      this.#network.use.end();
    });
    wire.on('drain', () => {
      this.#notifications.taken();
      this.#proceed();
    });
  }

  /** To be called a few times a second. @param now as `performance.now()` has it */
  beat(now: number): void {
    this.#askRules();
    this.#subscriptions.confirm();
    const fault = this.#unfinished.look(now, this.#socket.isPaused);
    if (fault !== undefined) this.end(fault);
    if (now < this.#pingAt || !this.#isOpen()) return;
    this.#pingAt = now + PING_EVERY_MS;
    if (!this.#isAlive()) {
      this.end('silent');
      return;
    }
    this.#socket.ping();
    this.#seen = { read: this.#wire.bytesRead, taken: takenBytes(this.#wire), unread: this.#socket.bufferedAmount };
  }

  /** Whoever could not come in any more shall not stay. */
  #askRules(): void {
    const { caller, holder } = this.#parts;
    try {
      holder.access.entry?.admit(caller);
    } catch (error) {
      this.end(endingFor(error));
    }
  }

  get network(): ServedNetwork {
    return this.#network;
  }

  /** From the next message on, the network is as its file says now. */
  moveTo(network: ServedNetwork): void {
    network.use.begin();
    this.#network.use.end();
    // Another chain has come in its place.
    if (network.subscriptions !== this.#network.subscriptions) this.end('missed-blocks');
    this.#network = network;
  }

  /** Takes no more messages, answers those that came, then ends. */
  leave(reason: Leaving): void {
    this.#leaving ??= reason;
    this.#proceed();
  }

  /** Ends at once: answers under way are dropped. */
  end(reason: Ending): void {
    if (!this.#isOpen()) return;
    this.#endedBy ??= reason;
    this.#waiting.length = 0;
    const ending = endings[reason];
    if (ending === undefined) this.#socket.terminate();
    else this.#socket.close(ending.code, ending.text);
    // Else the caller's own close frame would never be read.
    this.#socket.resume();
  }

  #receive(message: Buffer): void {
    if (!this.#isOpen()) return;
    this.#network.sockets.heard();
    if (this.#leaving !== undefined) {
      const { holder, batch } = this.#parts;
      const refusal = new RpcError(this.#leaving === 'stopping' ? 'stopping' : 'unknown-network');
      const answer = refuseBody(message, refusal, { network: this.#network, access: holder.access }, batch);
      if (answer !== undefined) this.#say(answer.body);
      return;
    }
    if (this.#mayBegin()) {
      void this.#answer(message);
      return;
    }
    // Not refused, since a client that sends each call by itself would see its 101st fail: TCP makes it wait.
    this.#waiting.push(message);
    this.#socket.pause();
  }

  #mayBegin(): boolean {
    return this.#underWay < this.#parts.messagesMax && this.#socket.bufferedAmount <= UNREAD_USUAL_BYTES;
  }

  #proceed(): void {
    while (this.#waiting.length > 0 && this.#mayBegin()) void this.#answer(this.#waiting.shift() as Buffer);
    if (this.#waiting.length > 0) return;
    if (this.#leaving !== undefined && this.#underWay === 0) this.end(this.#leaving);
    else if (this.#socket.isPaused) this.#socket.resume();
  }

  /** Never rejects. */
  async #answer(message: Buffer): Promise<void> {
    const { batch, load, metrics, requestId, log } = this.#parts;
    const context = contextOf(this.#parts, this.#network, this.#subscriptions, this.#caller);
    let held: number | undefined;
    this.#underWay++;
    context.network.use.begin();
    try {
      load.begin(message.length);
      held = message.length;
      const answer = await handleBody(message, context, batch);
      context.note?.write();
      if (answer !== undefined) this.#say(answer.body);
    } catch (error) {
      const refusal = refusalOf(error, requestId, log);
      metrics.refused(refusal.reason);
      context.note?.write(refusal.reason);
      this.#say(bodyRefusalAnswer(refusal).body);
    } finally {
      if (held !== undefined) load.end(held);
      context.network.use.end();
      this.#underWay--;
      this.#subscriptions.answered(context);
      this.#proceed();
    }
  }

  /** Where the caller has left there is nobody to tell. */
  #say(body: string | Buffer): void {
    if (!this.#isOpen()) return;
    // Looked at before, so that one answer of any size gets through.
    if (this.#leavesTooMuchUnread()) this.end('slow-reader');
    else this.#socket.send(body, { binary: false });
  }

  #isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  #leavesTooMuchUnread(): boolean {
    return this.#socket.bufferedAmount > this.#parts.unreadMaxBytes;
  }

  /** Whether anything was heard of the caller since the last ping. */
  #isAlive(): boolean {
    if (this.#wire.bytesRead !== this.#seen.read) return true;
    // Our ping stands behind a large answer, which the caller is taking.
    if (this.#seen.unread > 0 && takenBytes(this.#wire) !== this.#seen.taken) return true;
    // We do not listen, because of calls under way; they have their own time limit.
    return this.#socket.isPaused && this.#socket.bufferedAmount <= UNREAD_USUAL_BYTES;
  }
}
