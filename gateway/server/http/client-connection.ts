import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { digestOf } from '../../auth/formats/key.ts';
import type { Network } from '../../call/network.ts';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import type { RejectedBodies } from '../../limits/rejected-bodies.ts';
import type { Holder } from '../../memory/holder.ts';
import type { MemoryBudget } from '../../memory/memory-budget.ts';
import { Reservation } from '../../memory/reservation.ts';
import type { NetworkFinder, RequestTarget } from '../../networks/find-network.ts';
import { Cancellation } from '../../upstreams/transport/cancellation.ts';
import { Burst } from './burst.ts';
import type { IncomingRequest } from './incoming-request.ts';
import { JoinedChunks, type HeldConnection } from './joined-chunks.ts';
import { pendingResponse, sentBytes, skipInput, watchHeads } from './node-internals.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

interface TargetOptions {
  readonly networks: NetworkFinder<Network>;
  readonly proxies: TrustedProxies;
}

/** Requests of one connection in progress: one, and 4 that the client sends before its response. */
const MAX_IN_PROGRESS = 5;
/** Memory of a request that waits, with its response object. */
const WAITING_REQUEST_BYTES = 8_192;
/**
 * When so many requests that wait have arrived in 100 ms, a connection with more than 32 is closed, unless it is the first one:
 * Node parses the 1,700 requests of a read at once, in 25 ms.
 */
const MAX_ARRIVALS = 1_700;
const MAX_WAITING_IN_BURST = 32;
/** Other proxies allow no more: Envoy 100, HAProxy 101, Apache 100. */
const MANY_HEADERS = 100;
/** Unfinished heads with more headers. Each takes 160 kB: Node keeps an object for each name and value. */
const MAX_LARGE_HEADS = 100;
/** Promised to clients. Longer than the usual idle timeout of load balancers (60 s), so that they close first. */
export const KEEP_ALIVE_S = 65;
/** Checks without activity before a connection is closed. The first of them may follow its last response at once. */
const MAX_IDLE_CHECKS = KEEP_ALIVE_S + 1;
/** Consecutive checks in which a client reads nothing of what is unread; fewer if the budget has no byte for its holder. */
const MAX_STALLED_CHECKS = 30;
const MAX_STALLED_CHECKS_EXHAUSTED = 5;

type ClientResponse = ServerResponse<IncomingRequest>;
export type RequestHandler = (request: IncomingRequest, response: ServerResponse) => void;

export interface ConnectionOptions {
  readonly memory: MemoryBudget;
  /** Whose share of the memory budget a request uses before its key is known. */
  readonly holderOf: (request: IncomingMessage) => Holder;
  readonly rejectedBodies: RejectedBodies;
  /** Open connections above which idle ones are closed. */
  readonly connectionsMax: number;
}

/** Unfinished heads with many headers, of all connections of a server. */
export interface UnfinishedHeads {
  large: number;
}

/** Responses that the client has not read. */
interface Unread {
  readonly holder: Holder;
  sentBytes: number;
  stalledChecks: number;
}

/** The requests that wait, of all connections. */
const arrivals = new Burst<ClientConnection>(MAX_ARRIVALS);

/** The only table by socket: Node's events name a socket, or a request with its socket. */
const connections = new WeakMap<Duplex, ClientConnection>();

/** Of a socket that a server has accepted: each has one from its first event on. */
export function connectionOf(socket: Duplex): ClientConnection {
  return connections.get(socket) as ClientConnection;
}

/** Whether `connectionOf` may be called. */
export function isConnection(socket: Duplex): boolean {
  return connections.has(socket);
}

/**
 * One connection of a client over HTTP: its last route, its requests in progress and those that wait, and what its client
 * has not read.
 *
 * At most 5 requests are in progress until the kernel has taken their responses; while there are so many, the connection
 * is not read. Node itself handles all requests of one read, some 2,000, at once.
 */
export class ClientConnection implements HeldConnection {
  readonly socket: Socket;
  /**
   * Cancels all requests of the connection when it closes. A listener for each request would cost more, and none of
   * them can get a response after the close.
   */
  readonly caller = new Cancellation();
  readonly #options: ConnectionOptions;
  readonly #handle: RequestHandler;
  readonly #heads: UnfinishedHeads;

  /** The network and the key digest of the last URL: most clients use one only. */
  #url = '';
  #host: string | undefined;
  #activeNetworks: unknown;
  #target: RequestTarget<Network> | undefined;
  #digest: string | undefined;

  /** Of the requests in progress. Their responses end in this order. */
  readonly #reservations: Reservation[] = [];
  /** To requests of the last reads that have not begun. Undefined until the client first sends so many. */
  #waiting: ClientResponse[] | undefined;
  /** Undefined until the client first sends a body in chunks. */
  #chunks: JoinedChunks | undefined;
  #isHeld = false;
  /** Whether a listener pauses the connection again. It is not added for most. */
  #keepsPaused = false;
  /** The response to an ambiguous request. What follows it may be its body, so it is not handled. */
  #last: ServerResponse | undefined;
  #hasLastBegun = false;

  #hasLargeHead = false;
  #unread: Unread | undefined;
  #idleChecks = 0;
  #checkedBytes = 0;

  constructor(socket: Socket, options: ConnectionOptions, handle: RequestHandler, heads: UnfinishedHeads) {
    this.socket = socket;
    this.#options = options;
    this.#handle = handle;
    this.#heads = heads;
    connections.set(socket, this);
    watchHeads(socket, (headers) => headers <= MANY_HEADERS || this.#mayKeepHead());
    if (socket.destroyed) this.#onClose();
    else socket.once('close', this.#onClose);
  }

  readonly #onClose = (): void => {
    this.caller.cancel();
    this.headEnded();
    for (const reservation of this.#reservations) reservation.release();
    for (const { req } of this.#waiting ?? []) req.reservation.release();
    this.#reservations.length = 0;
    this.#waiting = undefined;
  };

  /**
   * Network and key in host and path of a request or upgrade. Finding them and hashing the key take 2 of 48 µs of a cache hit
   * (measured 2026-11-21).
   */
  target({ networks, proxies }: TargetOptions, request: IncomingMessage): RequestTarget<Network> | undefined {
    const { url = '' } = request;
    const host = proxies.hostOf(request);
    if (url === this.#url && host === this.#host && networks.active === this.#activeNetworks) return this.#target;
    [this.#url, this.#host, this.#activeNetworks, this.#digest] = [url, host, networks.active, undefined];
    return (this.#target = networks.find(url, host));
  }

  /** Digest of the key of a target. */
  digestOf(target: RequestTarget<Network>): string {
    return target === this.#target ? (this.#digest ??= digestOf(target.key)) : digestOf(target.key);
  }

  /** To be called for each request: its head is complete. */
  headEnded(): void {
    if (!this.#hasLargeHead) return;
    this.#hasLargeHead = false;
    this.#heads.large--;
  }

  #mayKeepHead(): boolean {
    if (this.#hasLargeHead) return true;
    if (this.#heads.large >= MAX_LARGE_HEADS) return false;
    this.#heads.large++;
    return (this.#hasLargeHead = true);
  }

  /** The response to an ambiguous request: none of the later ones is handled. */
  get last(): ServerResponse | undefined {
    return this.#last;
  }

  endWith(response: ServerResponse): void {
    this.#last = response;
    response.shouldKeepAlive = false;
  }

  /** To be called for each request, in their order. */
  arrived(request: IncomingRequest, response: ClientResponse): void {
    request.reservation = new Reservation(this.#options.memory);
    if (request.headers['transfer-encoding'] !== undefined)
      (this.#chunks ??= new JoinedChunks(this)).joinThoseOf(request);
    if (this.#isFull()) this.#wait(request, response);
    else {
      this.#begin(request, response);
      if (this.#reservations.length < MAX_IN_PROGRESS) return;
    }
    this.#pause();
  }

  /** To be called when the kernel has taken the oldest response. */
  responseEnded(): void {
    this.#reservations.shift()?.release();
    const owner = this.#waiting?.[0]?.req.reservation.holder?.name;
    if (owner !== undefined) {
      const turn = turnBudget.next(owner);
      if (turn === undefined) this.#beginNext();
      else void turn.then(this.#beginNext);
    } else if (this.#keepsPaused && !this.#mustNotRead()) this.socket.resume();
  }

  /** In turns of the address: a client that reads fast would keep the event loop with the 2,000 requests of one read. */
  readonly #beginNext = (): void => {
    const next = this.#waiting?.shift();
    if (next === undefined) return;
    const { reservation } = next.req;
    reservation.setTo(0);
    turnBudget.run(reservation.holder?.name ?? '', () => {
      this.#begin(next.req, next);
    });
  };

  #begin(request: IncomingRequest, response: ServerResponse): void {
    this.#reservations.push(request.reservation);
    response.on('close', onResponseClosed);
    // Requests begin in order: those before the ambiguous one are handled.
    if (this.#last !== undefined && (this.#hasLastBegun ||= this.#last === response)) return;
    this.#handle(request, response);
  }

  #wait(request: IncomingRequest, response: ClientResponse): void {
    if (this.isClosed) return;
    const { reservation } = request;
    reservation.moveTo(this.#options.holderOf(request));
    arrivals.add();
    const isLong = (this.#waiting?.length ?? 0) >= MAX_WAITING_IN_BURST && arrivals.isOver(this);
    if (this.#mayClose() && (isLong || !reservation.canTake(WAITING_REQUEST_BYTES))) {
      // A rejection would have to wait, too: it is the response to the last request.
      skipInput(this.socket);
      this.close();
      return;
    }
    reservation.setTo(WAITING_REQUEST_BYTES);
    (this.#waiting ??= []).push(response);
  }

  get isClosed(): boolean {
    return this.socket.destroyed;
  }

  hold(): void {
    this.#isHeld = true;
    this.#pause();
  }

  resume(): void {
    this.#isHeld = false;
    if (!this.#mustNotRead()) this.socket.resume();
  }

  abandon(): void {
    skipInput(this.socket);
    this.hold();
  }

  /** Closes it to free memory or time. */
  close(): void {
    if (this.isClosed) return;
    this.#options.memory.counts.connection++;
    this.socket.destroy();
  }

  #mustNotRead(): boolean {
    return this.#isHeld || this.#isFull();
  }

  /** Also while requests wait for a turn: a later one must not begin before them. */
  #isFull(): boolean {
    return this.#reservations.length >= MAX_IN_PROGRESS || (this.#waiting?.length ?? 0) > 0;
  }

  /** `IncomingMessage` resumes its socket when it is read, so each `resume` is reverted. */
  #pause(): void {
    if (!this.#keepsPaused) {
      this.#keepsPaused = true;
      this.socket.on('resume', () => {
        if (this.#mustNotRead()) this.socket.pause();
      });
    }
    this.socket.pause();
  }

  /** Whether a request has no response yet. */
  get isInUse(): boolean {
    return pendingResponse(this.socket) !== undefined;
  }

  /** Whether its first head has arrived in part: a client that is served sends it at once. */
  get isUnused(): boolean {
    return !this.isInUse && this.socket.bytesRead > 0 && this.socket.bytesWritten === 0;
  }

  /** Whether it has a request of an owner in progress, and none that has sent a transaction. */
  mayCloseFor(owner: string): boolean {
    const isOwn = ({ holder }: Reservation): boolean => holder?.name === owner;
    const isInUse = this.#reservations.some(isOwn) || this.#waiting?.some(({ req }) => isOwn(req.reservation));
    return isInUse === true && this.#mayClose();
  }

  /** False while a sent transaction has no response yet. */
  #mayClose(): boolean {
    return !this.#reservations.some(({ mustDeliver }) => mustDeliver);
  }

  /** To be called after a response is written: closes the connection if the client does not read it. */
  watchUnread(response: ServerResponse, { holder }: Reservation): void {
    if (holder === undefined || (response.writableLength === 0 && response.writableEnded)) return;
    this.#unread ??= { holder, sentBytes: sentBytes(this.socket), stalledChecks: 0 };
  }

  /** To be called every second. A client that reads slowly makes progress and stays connected. */
  check(): void {
    if (this.#isIdle()) this.socket.destroy();
    else if (this.#unread !== undefined && this.#isStalled(this.#unread)) this.close();
  }

  /** A connection of which bytes arrived since the last check is not idle: Node limits their time. */
  #isIdle(): boolean {
    const { bytesRead } = this.socket;
    if (this.isInUse || bytesRead !== this.#checkedBytes) this.#idleChecks = 0;
    else this.#idleChecks++;
    this.#checkedBytes = bytesRead;
    return this.#idleChecks >= MAX_IDLE_CHECKS;
  }

  #isStalled(unread: Unread): boolean {
    if (this.socket.writableLength === 0) {
      this.#unread = undefined;
      return false;
    }
    const sent = sentBytes(this.socket);
    unread.stalledChecks = sent === unread.sentBytes ? unread.stalledChecks + 1 : 0;
    unread.sentBytes = sent;
    if (unread.stalledChecks >= MAX_STALLED_CHECKS) return true;
    return unread.stalledChecks >= MAX_STALLED_CHECKS_EXHAUSTED && this.#options.memory.isExhaustedFor(unread.holder);
  }
}

function onResponseClosed(this: ServerResponse): void {
  connectionOf(this.req.socket).responseEnded();
}
