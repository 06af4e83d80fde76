import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Holder } from '../../memory/holder.ts';
import type { MemoryBudget } from '../../memory/memory-budget.ts';
import type { UnreadConnections } from '../../memory/unread-connections.ts';

/** Fewer bytes are normal for a socket, and are not watched. */
const IGNORED_BYTES = 65_536;

/**
 * Accounts in the memory budget what one socket buffers outside its requests: unread responses and notifications,
 * messages and frames that wait, and the incomplete message in ws.
 */
export class SocketMemory {
  readonly #socket: WebSocket;
  readonly #connection: Socket;
  readonly #memory: MemoryBudget;
  readonly #unread: UnreadConnections;
  readonly #holder: Holder;
  readonly #close: () => void;
  /** Bytes of messages that wait and of the incomplete one, set by the session. */
  waitingBytes = 0;
  incompleteBytes = 0;
  /** Bytes of frames that wait for a turn. */
  frameBytes = 0;
  #takenBytes = 0;
  #isReleased = false;

  /** @param close closes a socket whose client does not read, when the budget has no byte for its holder */
  constructor(
    socket: WebSocket,
    connection: Socket,
    { memory, unread, holder }: { memory: MemoryBudget; unread: UnreadConnections; holder: Holder },
    close: () => void,
  ) {
    this.#socket = socket;
    this.#connection = connection;
    this.#memory = memory;
    this.#unread = unread;
    this.#holder = holder;
    this.#close = close;
  }

  /** To be called after each change of what is buffered. */
  update(): void {
    const unreadBytes = this.#socket.bufferedAmount;
    this.#set(unreadBytes + this.waitingBytes + this.incompleteBytes + this.frameBytes);
    if (unreadBytes > IGNORED_BYTES) this.#unread.watch(this.#connection, this.#holder, Infinity, this.#close);
  }

  /** Whether the budget has no byte for the key. */
  get isExhausted(): boolean {
    return this.#memory.isExhaustedFor(this.#holder);
  }

  /** To be called when the socket is closed: nothing is taken after it. */
  release(): void {
    this.#set(0);
    this.#isReleased = true;
  }

  #set(bytes: number): void {
    if (this.#isReleased) return;
    this.#memory.add(this.#holder, bytes - this.#takenBytes);
    this.#takenBytes = bytes;
  }
}
