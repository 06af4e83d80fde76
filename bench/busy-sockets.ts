import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import { addressOf } from './growing-chain.ts';

export interface BusyCounts {
  readonly notifications: number;
  readonly responses: number;
  /** Notifications and responses that were missing, duplicated, out of order or wrong. */
  readonly faults: number;
  /** Response times. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface Message {
  readonly id?: number;
  readonly result?: string;
  readonly params?: { readonly result: { readonly number?: string; readonly blockNumber?: string } };
}

/** The first id of the calls for the head. Subscriptions have lower ids. */
const FIRST_CALL_ID = 10;

/** A client with one socket: it subscribes to heads and to the logs of one contract, and sends calls for the head. */
class BusyClient {
  readonly responseTimesMs: number[] = [];
  notifications = 0;
  faults = 0;
  readonly #socket: WebSocket;
  readonly #sent = new Map<number, number>();
  #nextId = FIRST_CALL_ID;
  #lastHead = 0;
  #lastLog = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  async subscribe(address: string): Promise<void> {
    this.#send(1, 'eth_subscribe', ['newHeads']);
    await once(this.#socket, 'message');
    this.#send(2, 'eth_subscribe', ['logs', { address }]);
    await once(this.#socket, 'message');
    this.#socket.on('message', (data) => {
      this.#receive(JSON.parse((data as Buffer).toString()) as Message);
    });
  }

  sendCall(): void {
    this.#sent.set(this.#nextId, performance.now());
    this.#send(this.#nextId++, 'eth_blockNumber', []);
  }

  /** @param blocks since it subscribed @returns faults, including missing messages */
  faultsAfter(blocks: number): number {
    return this.faults + this.#sent.size + Math.abs(2 * blocks - this.notifications);
  }

  #receive({ id, result, params }: Message): void {
    if (params !== undefined) {
      this.notifications++;
      const { number, blockNumber } = params.result;
      const [last, next] =
        number === undefined ? [this.#lastLog, Number(blockNumber)] : [this.#lastHead, Number(number)];
      if (last !== 0 && next !== last + 1) this.faults++;
      if (number === undefined) this.#lastLog = next;
      else this.#lastHead = next;
      return;
    }
    const sent = this.#sent.get(id ?? 0);
    if (sent === undefined || result === undefined) this.faults++;
    else this.responseTimesMs.push(performance.now() - sent);
    this.#sent.delete(id ?? 0);
  }

  #send(id: number, method: string, params: unknown[]): void {
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  }
}

/** Every client sends one call per second, at different times. @param grow adds a block to the chain, once per second */
export async function runClients(
  sockets: readonly WebSocket[],
  seconds: number,
  grow: () => void,
): Promise<BusyCounts> {
  const clients = sockets.map((socket) => new BusyClient(socket));
  await Promise.all(clients.map((client, index) => client.subscribe(addressOf(index % 200))));
  const startedAt = performance.now();
  for (let second = 0; second < seconds; second++) {
    grow();
    for (let tenth = 0; tenth < 10; tenth++) {
      await delay(Math.max(0, startedAt + second * 1_000 + tenth * 100 - performance.now()));
      for (let index = tenth; index < clients.length; index += 10) clients[index]?.sendCall();
    }
  }
  // On a loaded machine the last messages may be late by seconds.
  for (let waits = 0; waits < 300 && clients.some((client) => client.faultsAfter(seconds) > 0); waits++)
    await delay(100);
  const times = clients.flatMap(({ responseTimesMs }) => responseTimesMs).sort((a, b) => a - b);
  const at = (share: number): number => times[Math.ceil(times.length * share) - 1] ?? NaN;
  return {
    notifications: clients.reduce((sum, { notifications }) => sum + notifications, 0),
    responses: times.length,
    faults: clients.reduce((sum, client) => sum + client.faultsAfter(seconds), 0),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}
