import { once } from 'node:events';
import { WebSocket } from 'ws';
import { scenarioPause } from '../../support/scenario-pause.ts';
import { logIdentity } from '../day/day-block.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Message {
  readonly id?: number;
  readonly result?: string;
  readonly error?: unknown;
  readonly params?: { readonly subscription: string; readonly result: unknown };
}

const kinds = ['newHeads', 'logs', 'newPendingTransactions'] as const;
const RECONNECT_MS = 100;

/** Subscribes to heads, all logs and pending transactions over one WebSocket, and again whenever that is closed. */
export class DaySubscriber {
  readonly name: string;
  /** How often each notification came: hashes of blocks and transactions, and identities of logs. */
  readonly heads = new Map<string, number>();
  readonly logs = new Map<string, number>();
  readonly removed = new Map<string, number>();
  readonly pending = new Map<string, number>();
  newestHead = '';
  /** How often the WebSocket was closed by the other side. */
  disconnects = 0;
  readonly #url: string;
  readonly #subscribed = new Map<string, (typeof kinds)[number]>();
  #socket: WebSocket | undefined;
  #isEnded = false;

  private constructor(name: string, url: string) {
    this.name = name;
    this.#url = url;
  }

  static async open(name: string, url: string): Promise<DaySubscriber> {
    const subscriber = new DaySubscriber(name, url);
    await subscriber.#connect();
    return subscriber;
  }

  close(): void {
    this.#isEnded = true;
    this.#socket?.terminate();
  }

  async #connect(): Promise<void> {
    const socket = new WebSocket(this.#url);
    this.#socket = socket;
    // `close` follows.
    socket.on('error', () => undefined);
    await once(socket, 'open');
    socket.on('close', () => {
      if (this.#isEnded) return;
      this.disconnects++;
      void this.#reconnect();
    });
    let confirmed = 0;
    const subscribed = new Promise<void>((resolve, reject) => {
      socket.on('message', (data) => {
        const message = JSON.parse((data as Buffer).toString()) as Message;
        if (message.error !== undefined) reject(new Error(JSON.stringify(message)));
        const kind = kinds[message.id ?? NaN];
        if (kind !== undefined) this.#subscribed.set(String(message.result), kind);
        if (kind !== undefined && ++confirmed === kinds.length) resolve();
        if (message.params !== undefined) this.#take(message.params.subscription, message.params.result);
      });
      socket.on('close', () => {
        reject(new Error('closed'));
      });
    });
    for (const [id, kind] of kinds.entries()) {
      const params = kind === 'logs' ? [kind, {}] : [kind];
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_subscribe', params }));
    }
    await subscribed;
  }

  /** New connection. Never rejects. */
  async #reconnect(): Promise<void> {
    while (!this.#isEnded) {
      await scenarioPause(RECONNECT_MS);
      try {
        await this.#connect();
        return;
      } catch {
        // The node is not there yet. A socket that was open has started another attempt.
        if (this.#socket?.readyState === WebSocket.OPEN) return;
      }
    }
  }

  #take(subscription: string, result: unknown): void {
    const kind = this.#subscribed.get(subscription);
    if (kind === 'newHeads') {
      this.newestHead = String((result as Fields)['hash']);
      count(this.heads, this.newestHead);
    } else if (kind === 'logs') {
      const log = result as Fields;
      count(log['removed'] === true ? this.removed : this.logs, logIdentity(log));
    } else if (kind === 'newPendingTransactions') count(this.pending, String(result));
  }
}

function count(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1);
}
