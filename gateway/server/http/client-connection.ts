import { IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { digestOf } from '../../auth/formats/key.ts';
import type { KeyAccess } from '../../auth/key-access.ts';
import type { Network } from '../../call/call.ts';
import type { RejectedBodies } from '../../limits/rejected-bodies.ts';
import { gatehouse, type Account } from '../../admission/account.ts';
import { clock } from '../../clock/clock.ts';
import { CollectedBytes } from '../../memory/collected-bytes.ts';
import type { MemoryBudget } from '../../memory/memory-budget.ts';
import { Reservation } from '../../memory/reservation.ts';
import type { NetworkFinder, RequestTarget } from '../../networks/find-network.ts';
import type { AccessLogEntry } from '../../observability/access-log.ts';
import { Cancellation } from '../../upstreams/transport/cancellation.ts';
import { sentBytes, skipInput } from './node-internals.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

interface TargetOptions {
  readonly networks: NetworkFinder<Network>;
  readonly proxies: TrustedProxies;
}

/** Requests of one connection in progress: one, and 4 that the client sends before its response. */
const MAX_IN_PROGRESS = 5;
/**
 * Requests of one connection, of which 5 wait. With a further one, the connection closes after the responses to these. Bounds the
 * attack `pipelined requests, responses never read`.
 */
const MAX_PIPELINED = 10;
/** Memory of a request that waits. Its head has up to 16 kB. */
const WAITING_REQUEST_BYTES = 8_192;
/** Time that is promised to clients. Longer than the usual idle timeout of load balancers (60 s), so that they close first. */
export const KEEP_ALIVE_S = 65;
/** Checks without activity before a connection is closed. The first of them may follow its last response at once. */
const MAX_IDLE_CHECKS = KEEP_ALIVE_S + 1;
/** Consecutive checks in which a client reads nothing of what is unread; fewer if the budget has no byte for its account. */
const MAX_STALLED_CHECKS = 30;
const MAX_STALLED_CHECKS_EXHAUSTED = 5;
/** Smaller chunks of a body are joined, and counted. */
const TINY_BYTES = 256;
const TINY_CHUNKS_PERIOD_MS = 200;
/** Tiny chunks of all connections in a period. Node's parser takes 1 µs for each. */
const MAX_TINY_CHUNKS = 6_000;
/** Tiny chunks of one connection in a period, for which it is not closed. */
const MAX_HARMLESS_CHUNKS = 64;
/** A connection with more is not closed at once: its client would send the same on a new one. */
const CLOSE_AFTER_MS = 1_000;

type ClientResponse = ServerResponse<IncomingRequest>;
export type RequestHandler = (request: IncomingRequest, response: ServerResponse) => void;

export interface ConnectionOptions {
  readonly memory: MemoryBudget;
  /** Account whose share of the memory budget a request uses before its key is known. */
  readonly accountOf: (request: IncomingMessage) => Account;
  readonly rejectedBodies: RejectedBodies;
  /** Open connections above which idle ones are closed. */
  readonly connectionsMax: number;
}

/** A request or upgrade, with what is found out about it on its way. Each member is set before it is used. */
export class IncomingRequest extends IncomingMessage {
  id!: string;
  clientConnection!: ClientConnection;
  /** Bytes of the request; released when its response is sent or its connection closes. */
  reservation!: Reservation;
  target!: RequestTarget<Network>;
  network!: Network;
  access!: KeyAccess;
  logEntry: AccessLogEntry | undefined;
  /** Why it has no result, for the access log. */
  reason: string | undefined;
}

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- where Express declares its requests
  namespace Express {
    // eslint-disable-next-line @typescript-eslint/no-empty-object-type
    interface Request extends Omit<IncomingRequest, keyof IncomingMessage> {}
  }
}

/** Responses that the client has not read. */
interface Unread {
  readonly account: Account;
  sentBytes: number;
  stalledChecks: number;
}

/** The only table by socket: Node's events name a socket, or a request with its socket. */
const connections = new WeakMap<Duplex, ClientConnection>();

/** Connection of a socket that a server has accepted: each has one from its first event on. */
export function connectionOf(socket: Duplex): ClientConnection {
  return connections.get(socket) as ClientConnection;
}

/** Whether `connectionOf` may be called. */
export function isConnection(socket: Duplex): boolean {
  return connections.has(socket);
}

/**
 * One connection of a client over HTTP: its last route, its requests without a complete response, and what its client has not
 * read.
 *
 * At most 5 requests are in progress until the kernel has taken their responses; while there are so many, the connection
 * is not read. Up to 5 that were read with them wait.
 */
export class ClientConnection {
  readonly socket: Socket;
  /**
   * Cancels all requests of the connection when it closes. A listener for each request would cost more, and none of
   * them can get a response after the close.
   */
  readonly caller = new Cancellation();
  readonly #options: ConnectionOptions;
  readonly #handle: RequestHandler;

  /** The network and the key digest of the last URL: most clients use one only. */
  #url = '';
  #host: string | undefined;
  #activeNetworks: unknown;
  #target: RequestTarget<Network> | undefined;
  #digest: string | undefined;

  /** Responses that are not complete, the oldest first: of the requests in progress, and of those that wait. */
  readonly responses: ClientResponse[] = [];
  #isHeld = false;
  #isAbandoned = false;
  /** Whether a listener pauses the connection again. It is not added for most. */
  #keepsPaused = false;
  /** The last response of the connection: none of the later requests is handled. `endWith` sets it. */
  last: ClientResponse | undefined;

  #unread: Unread | undefined;
  #idleChecks = 0;
  #checkedBytes = 0;

  constructor(socket: Socket, options: ConnectionOptions, handle: RequestHandler) {
    this.socket = socket;
    this.#options = options;
    this.#handle = handle;
    connections.set(socket, this);
    if (socket.destroyed) this.#onClose();
    else socket.once('close', this.#onClose);
  }

  readonly #onClose = (): void => {
    this.caller.cancel();
    for (const { req } of this.responses.splice(0)) req.reservation.release();
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

  endWith(response: ClientResponse): void {
    this.last = response;
    response.shouldKeepAlive = false;
  }

  /** Notes a request. To be called for each, in their order. */
  arrived(request: IncomingRequest, response: ClientResponse): void {
    const before = this.responses.length;
    const isWaiting = before >= MAX_IN_PROGRESS;
    const account = isWaiting ? this.#options.accountOf(request) : gatehouse;
    const reservation = (request.reservation = new Reservation(this.#options.memory, account));
    const isRejected = isWaiting && (before >= MAX_PIPELINED || !reservation.canTake(WAITING_REQUEST_BYTES));
    if (isRejected && this.last === undefined) {
      // A rejection would have to wait, too: it is the response to the last request.
      this.#options.memory.counts.connection++;
      this.endWith(this.responses.at(-1) as ClientResponse);
    }
    if (this.last !== undefined && this.last !== response) {
      this.abandon();
      return;
    }
    if (request.headers['transfer-encoding'] !== undefined) boundTinyChunks(request, this);
    if (isWaiting) reservation.setTo(WAITING_REQUEST_BYTES);
    this.responses.push(response);
    response.on('close', this.#onResponseClosed);
    // An ambiguous request has its response already.
    if (!isWaiting && !response.headersSent) this.#handle(request, response);
    if (before + 1 >= MAX_IN_PROGRESS) this.#pause();
  }

  /** The kernel has taken the oldest response. */
  readonly #onResponseClosed = (): void => {
    const ended = this.responses.shift();
    ended?.req.reservation.release();
    // Node closes it itself, except if the head was sent before.
    if (ended !== undefined && ended === this.last) this.socket.destroySoon();
    const next = this.responses[MAX_IN_PROGRESS - 1];
    next?.req.reservation.setTo(0);
    if (next?.headersSent === false) this.#handle(next.req, next);
    else if (next === undefined && this.#keepsPaused && !this.#mustNotRead()) this.socket.resume();
  };

  /** Reads nothing until `resume`. */
  hold(): void {
    this.#isHeld = true;
    this.#pause();
  }

  resume(): void {
    this.#isHeld = false;
    if (!this.#mustNotRead()) this.socket.resume();
  }

  /** Stops parsing what was read, and reading. Bounds the attack `100 addresses without a key`. */
  abandon(): void {
    this.#isAbandoned = true;
    skipInput(this.socket);
    this.#pause();
  }

  /** Closes it to free memory or time. */
  close(): void {
    if (this.socket.destroyed) return;
    this.#options.memory.counts.connection++;
    this.socket.destroy();
  }

  #mustNotRead(): boolean {
    return this.#isHeld || this.#isAbandoned || this.responses.length >= MAX_IN_PROGRESS;
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

  /** Whether a request has no complete response yet. */
  get isInUse(): boolean {
    return this.responses.length > 0;
  }

  /** Whether its first head has arrived in part: a client that is served sends it at once. */
  get isUnused(): boolean {
    return !this.isInUse && this.socket.bytesRead > 0 && this.socket.bytesWritten === 0;
  }

  /** Whether it has a request of an owner in progress, and none that has sent a transaction. */
  mayCloseFor(owner: string): boolean {
    const reservations = this.responses.map(({ req }) => req.reservation);
    return (
      reservations.some(({ account }) => account.memoryOwner.name === owner) &&
      !reservations.some(({ mustDeliver }) => mustDeliver)
    );
  }

  /** Closes the connection if the client does not read its response. To be called after that is written. */
  watchUnread(response: ServerResponse, { account }: Reservation): void {
    if (account === gatehouse || (response.writableLength === 0 && response.writableEnded)) return;
    this.#unread ??= { account, sentBytes: sentBytes(this.socket), stalledChecks: 0 };
  }

  /** Checks the connection. To be called every second. A client that reads slowly makes progress and stays connected. */
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
    return unread.stalledChecks >= MAX_STALLED_CHECKS_EXHAUSTED && this.#options.memory.isExhaustedFor(unread.account);
  }
}

/** Tiny chunks of this period, by connection. One table for the process, because the process has one event loop. */
const tinyChunks = new Map<ClientConnection, number>();
let tinyChunksOfAll = 0;
/** The first connection with more than harmless chunks. It is read again in the next period. */
let firstWithMany: ClientConnection | undefined;

/**
 * Joins the tiny chunks of a body before they are emitted: those of one read become one chunk. If all connections together have
 * sent very many in 200 ms, the first one is not read for the rest of that time, and the others are closed. One read has 11,000
 * chunks of one byte, which Node parses at once. To be called before the body is read. Bounds the attack `200 bodies in chunks of
 * one byte, without a key`.
 */
function boundTinyChunks(request: IncomingMessage, connection: ClientConnection): void {
  let joined: CollectedBytes | undefined;
  let isAbandoned = false;
  const push = request.push.bind(request);
  const emitJoined = (): void => {
    if (joined === undefined) return;
    const bytes = joined.join();
    joined = undefined;
    // As Node's parser does when the body is not read.
    if (!push(bytes)) request.socket.pause();
  };
  request.push = (chunk: Buffer | null) => {
    // Its body is incomplete, and does not end.
    if (isAbandoned) return true;
    if (chunk !== null && chunk.length < TINY_BYTES) {
      isAbandoned = isAbandonedForChunks(connection);
      if (joined === undefined) {
        joined = new CollectedBytes();
        // Runs after all that was read at once is parsed.
        process.nextTick(emitJoined);
      }
      joined.add(chunk);
      return true;
    }
    emitJoined();
    return push(chunk);
  };
}

/** Counts a tiny chunk. @returns whether the connection is abandoned now */
function isAbandonedForChunks(connection: ClientConnection): boolean {
  if (tinyChunksOfAll++ === 0) clock.setTimeout(endPeriod, TINY_CHUNKS_PERIOD_MS).unref();
  const own = (tinyChunks.get(connection) ?? 0) + 1;
  tinyChunks.set(connection, own);
  if (own <= MAX_HARMLESS_CHUNKS) return false;
  firstWithMany ??= connection;
  if (tinyChunksOfAll <= MAX_TINY_CHUNKS) return false;
  if (connection === firstWithMany) {
    connection.hold();
    return false;
  }
  connection.abandon();
  clock.setTimeout(connection.close.bind(connection), CLOSE_AFTER_MS).unref();
  return true;
}

function endPeriod(): void {
  firstWithMany?.resume();
  firstWithMany = undefined;
  tinyChunksOfAll = 0;
  tinyChunks.clear();
}
