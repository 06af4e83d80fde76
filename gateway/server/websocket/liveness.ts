import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { sentBytes } from '../../memory/unread-connections.ts';

/** Ping interval, as in geth: a client without traffic for one interval after a ping is disconnected. */
const PING_INTERVAL_MS = 30_000;
/** Interval of the checks of an idle socket. */
const IDLE_CHECK_MS = 500;
/** Maximum pings and pongs of a client in one interval: 16 a second. */
const MAX_CONTROL_FRAMES = 500;
/** While more is unread, no further messages are handled. A client that reads leaves less. */
export const PAUSE_ABOVE_UNREAD_BYTES = 1_000_000;

/** Sends the pings of one socket, finds whether its client is silent, and counts the pings and pongs of the client. */
export class Liveness {
  readonly #socket: WebSocket;
  readonly #connection: Socket;
  #controlFrames = 0;
  #pingAt = performance.now() + PING_INTERVAL_MS;
  #lastCheck: { readonly access?: object; readonly bytesRead: number; readonly nextAt: number } = {
    bytesRead: 0,
    nextAt: 0,
  };
  #lastPing = { bytesRead: 0, bytesSent: 0, unreadBytes: 0 };

  constructor(socket: WebSocket, connection: Socket) {
    this.#socket = socket;
    this.#connection = connection;
  }

  /** Whether anything may have changed: its client sent bytes, its key changed, or the last check was half a second ago. */
  isCheckDue(now: number, access: object): boolean {
    const { bytesRead } = this.#connection;
    const last = this.#lastCheck;
    if (last.bytesRead === bytesRead && last.access === access && now < last.nextAt) return false;
    this.#lastCheck = { access, bytesRead, nextAt: now + IDLE_CHECK_MS };
    return true;
  }

  /** Sends a ping when one is due. @returns `silent` if there was no traffic since the last one */
  check(now: number): 'silent' | undefined {
    if (now < this.#pingAt) return undefined;
    this.#pingAt = now + PING_INTERVAL_MS;
    this.#controlFrames = 0;
    if (!this.#isAlive()) return 'silent';
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping();
    this.#lastPing = {
      bytesRead: this.#connection.bytesRead,
      bytesSent: sentBytes(this.#connection),
      unreadBytes: this.#socket.bufferedAmount,
    };
    return undefined;
  }

  /** @returns how many times the client has sent the maximum of an interval: 0 is allowed */
  countControlFrame(): number {
    return Math.floor(this.#controlFrames++ / MAX_CONTROL_FRAMES);
  }

  /** Whether the client has sent or read anything since the last ping. */
  #isAlive(): boolean {
    if (this.#connection.bytesRead !== this.#lastPing.bytesRead) return true;
    // The ping is queued behind a large response, which the client is reading.
    if (this.#lastPing.unreadBytes > 0 && sentBytes(this.#connection) !== this.#lastPing.bytesSent) return true;
    // Reading is paused because of calls in progress, which have their own timeout.
    return this.#socket.isPaused && this.#socket.bufferedAmount <= PAUSE_ABOVE_UNREAD_BYTES;
  }
}
