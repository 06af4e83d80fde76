import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import { addressOf } from './growing-chain.ts';

export interface BusyCounts {
  readonly told: number;
  readonly answered: number;
  /** Notifications and answers that did not come, came twice, out of order, or were wrong. */
  readonly faults: number;
  /** How long answers took. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface Message {
  readonly id?: number;
  readonly result?: string;
  readonly params?: { readonly result: { readonly number?: string; readonly blockNumber?: string } };
}

/** Ids of calls for the head; those below are subscriptions'. */
const FIRST_CALL = 10;

/** One caller's: it subscribes to heads and to the logs of one contract, and asks for the head again and again. */
class BusyCaller {
  readonly answeredIn: number[] = [];
  told = 0;
  faults = 0;
  readonly #socket: WebSocket;
  readonly #sent = new Map<number, number>();
  #next = FIRST_CALL;
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
      this.#hear(JSON.parse((data as Buffer).toString()) as Message);
    });
  }

  request(): void {
    this.#sent.set(this.#next, performance.now());
    this.#send(this.#next++, 'eth_blockNumber', []);
  }

  /** @param blocks that came since it subscribed @returns faults, with what is missing */
  faultsAfter(blocks: number): number {
    return this.faults + this.#sent.size + Math.abs(2 * blocks - this.told);
  }

  #hear({ id, result, params }: Message): void {
    if (params !== undefined) {
      this.told++;
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
    else this.answeredIn.push(performance.now() - sent);
    this.#sent.delete(id ?? 0);
  }

  #send(id: number, method: string, params: unknown[]): void {
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  }
}

/** Each asks once a second, at a time of its own; a block comes each second. @param grow adds a block to the chain */
export async function live(sockets: readonly WebSocket[], seconds: number, grow: () => void): Promise<BusyCounts> {
  const callers = sockets.map((socket) => new BusyCaller(socket));
  await Promise.all(callers.map((caller, index) => caller.subscribe(addressOf(index % 200))));
  const began = performance.now();
  for (let second = 0; second < seconds; second++) {
    grow();
    for (let tenth = 0; tenth < 10; tenth++) {
      await delay(Math.max(0, began + second * 1_000 + tenth * 100 - performance.now()));
      for (let index = tenth; index < callers.length; index += 10) callers[index]?.request();
    }
  }
  // What is still under way may come late, where others use this machine; but it must come.
  for (let rests = 0; rests < 300 && callers.some((caller) => caller.faultsAfter(seconds) > 0); rests++)
    await delay(100);
  const times = callers.flatMap(({ answeredIn }) => answeredIn).sort((a, b) => a - b);
  const at = (part: number): number => times[Math.ceil(times.length * part) - 1] ?? NaN;
  return {
    told: callers.reduce((sum, { told }) => sum + told, 0),
    answered: times.length,
    faults: callers.reduce((sum, caller) => sum + caller.faultsAfter(seconds), 0),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}
