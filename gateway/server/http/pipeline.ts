import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import type { RejectedBodies } from '../../limits/rejected-bodies.ts';
import {
  JoinedChunks,
  SKIP_REST,
  skipBody,
  type HeldConnection,
  type ParsedSocket,
} from '../../memory/joined-chunks.ts';
import type { Holder } from '../../memory/holder.ts';
import type { MemoryBudget } from '../../memory/memory-budget.ts';
import { Reservation } from '../../memory/reservation.ts';
import type { UnreadConnections } from '../../memory/unread-connections.ts';

/** Requests of one connection in progress: one, and 4 that the client sends before its response. */
const MAX_IN_PROGRESS = 5;
/** Memory of a request that waits, with its response object. */
const WAITING_REQUEST_BYTES = 8_192;
/**
 * When requests that wait have arrived for this time of a turn, a connection with more than so many is closed, unless it is the
 * first one: Node parses the 1,700 requests of a read at once, in 25 ms, and those of 100 connections in one turn.
 */
const MAX_ARRIVAL_MS = 25;
const MAX_WAITING_IN_LONG_TURN = 32;
/** Time without progress after which a connection with unread bytes is closed. */
const MAX_STALLED_MS = 30_000;

/** @param reservation the bytes of the request; released when its response is sent or its connection closes */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse, reservation: Reservation) => void;

export interface PipelineOptions {
  readonly memory: MemoryBudget;
  readonly unread: UnreadConnections;
  /** Whose share of the memory budget a request uses before its key is known. */
  readonly holderOf: (request: IncomingMessage) => Holder;
  readonly rejectedBodies: RejectedBodies;
  /** Open connections above which idle ones are closed. */
  readonly connectionsMax: number;
}

/**
 * Bounds what the requests of one connection buffer. At most 5 are in progress until the kernel has taken their
 * responses; while there are so many, the connection is not read. Node itself handles all requests of one read, some
 * 2,000, at once.
 */
export class Pipeline implements HeldConnection {
  readonly #socket: Socket;
  readonly #options: PipelineOptions;
  readonly #handle: RequestHandler;
  /** Of the requests in progress. Their responses end in this order. */
  readonly #reservations: Reservation[] = [];
  /** Requests of the last reads that have not begun. Undefined until the client first sends so many. */
  #waiting: { request: IncomingMessage; response: ServerResponse; reservation: Reservation }[] | undefined;
  /** Undefined until the client first sends a body in chunks. */
  #chunks: JoinedChunks | undefined;
  #isHeld = false;
  /** Whether a listener pauses the connection again. It is not added for most. */
  #keepsPaused = false;

  constructor(socket: Socket, options: PipelineOptions, handle: RequestHandler) {
    this.#socket = socket;
    this.#options = options;
    this.#handle = handle;
    socket.once('close', () => {
      for (const reservation of this.#reservations) reservation.release();
      for (const { reservation } of this.#waiting ?? []) reservation.release();
      this.#reservations.length = 0;
      this.#waiting = undefined;
    });
  }

  arrived(request: IncomingMessage, response: ServerResponse): void {
    const reservation = new Reservation(this.#options.memory);
    if (request.headers['transfer-encoding'] !== undefined)
      (this.#chunks ??= new JoinedChunks(this)).joinThoseOf(request);
    if (this.#isFull()) this.#wait(request, response, reservation);
    else {
      this.#begin(request, response, reservation);
      if (this.#reservations.length < MAX_IN_PROGRESS) return;
    }
    this.#pause();
  }

  /** To be called when the kernel has taken the oldest response. */
  responseEnded(): void {
    this.#reservations.shift()?.release();
    const owner = this.#waiting?.[0]?.reservation.holder?.name;
    if (owner !== undefined) {
      const turn = turnBudget.next(owner);
      if (turn === undefined) this.#beginNext();
      else void turn.then(this.#beginNext);
    } else if (this.#keepsPaused && !this.#mustNotRead()) this.#socket.resume();
  }

  /** In turns of the address: a client that reads fast would keep the event loop with the 2,000 requests of one read. */
  readonly #beginNext = (): void => {
    const next = this.#waiting?.shift();
    if (next === undefined) return;
    const { request, response, reservation } = next;
    reservation.setTo(0);
    turnBudget.run(reservation.holder?.name ?? '', () => {
      this.#begin(request, response, reservation);
    });
  };

  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  hold(): void {
    this.#isHeld = true;
    this.#pause();
  }

  resume(): void {
    this.#isHeld = false;
    if (!this.#mustNotRead()) this.#socket.resume();
  }

  abandon(): void {
    skipBody(this.#socket);
    this.hold();
  }

  close(): void {
    if (this.isClosed) return;
    this.#options.memory.counts.connection++;
    this.#socket.destroy();
  }

  mayCloseFor(owner: string): boolean {
    return (
      this.#reservations.some(({ holder }) => holder?.name === owner) &&
      !this.#reservations.some(({ mustDeliver }) => mustDeliver)
    );
  }

  watchUnread(holder: Holder): void {
    const socket = this.#socket;
    this.#options.unread.watch(socket, holder, MAX_STALLED_MS, () => socket.destroy());
  }

  #mustNotRead(): boolean {
    return this.#isHeld || this.#isFull();
  }

  /** Also while requests wait for a turn: a later one must not begin before them. */
  #isFull(): boolean {
    return this.#reservations.length >= MAX_IN_PROGRESS || (this.#waiting?.length ?? 0) > 0;
  }

  #begin(request: IncomingMessage, response: ServerResponse, reservation: Reservation): void {
    this.#reservations.push(reservation);
    response.on('close', onResponseClosed);
    this.#handle(request, response, reservation);
  }

  #wait(request: IncomingMessage, response: ServerResponse, reservation: Reservation): void {
    if (this.#socket.destroyed) return;
    const { memory, holderOf } = this.#options;
    reservation.moveTo(holderOf(request));
    const isLong = isArrivalLong(this) && (this.#waiting?.length ?? 0) >= MAX_WAITING_IN_LONG_TURN;
    if (isLong || !reservation.canTake(WAITING_REQUEST_BYTES)) {
      // A rejection would have to wait, too: it is the response to the last request.
      memory.counts.connection++;
      drop(this.#socket);
      return;
    }
    reservation.setTo(WAITING_REQUEST_BYTES);
    (this.#waiting ??= []).push({ request, response, reservation });
  }

  /** `IncomingMessage` resumes its socket when it is read, so each `resume` is reverted. */
  #pause(): void {
    if (!this.#keepsPaused) {
      this.#keepsPaused = true;
      this.#socket.on('resume', () => {
        if (this.#mustNotRead()) this.#socket.pause();
      });
    }
    this.#socket.pause();
  }
}

/** The first connection of this turn of the event loop whose requests wait. */
let arrival: { readonly first: Pipeline; readonly startedAt: number } | undefined;

/** Whether waiting requests have arrived for a long time of this turn, first those of another connection. */
function isArrivalLong(pipeline: Pipeline): boolean {
  if (arrival !== undefined)
    return arrival.first !== pipeline && performance.now() - arrival.startedAt > MAX_ARRIVAL_MS;
  arrival = { first: pipeline, startedAt: performance.now() };
  setImmediate(() => (arrival = undefined));
  return false;
}

const pipelines = new WeakMap<Socket, Pipeline>();

/** Watches the connection if the client has not read all of the response just written. */
export function watchUnread(response: ServerResponse, { holder }: Reservation): void {
  if (holder === undefined || (response.writableLength === 0 && response.writableEnded)) return;
  pipelines.get(response.req.socket)?.watchUnread(holder);
}

/** Whether a connection has a request of an owner in progress, and none that has sent a transaction. */
export function mayCloseFor(socket: Socket, owner: string): boolean {
  return pipelines.get(socket)?.mayCloseFor(owner) === true;
}

/** Creates the listener for the requests of a server. */
export function pipelined(options: PipelineOptions, handle: RequestHandler) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    let pipeline = pipelines.get(socket);
    if (pipeline === undefined) pipelines.set(socket, (pipeline = new Pipeline(socket, options, handle)));
    pipeline.arrived(request, response);
  };
}

/** Closes a connection, and skips what was read from it. Node would parse it, with 15 µs for each of 1,700 requests. */
function drop(socket: ParsedSocket): void {
  if (socket.parser) socket.parser.onIncoming = () => SKIP_REST;
  socket.destroy();
}

function onResponseClosed(this: ServerResponse): void {
  pipelines.get(this.req.socket)?.responseEnded();
}
