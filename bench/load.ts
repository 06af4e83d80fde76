import type { CallBatch, CheckedCalls, Outcomes } from './checked-calls.ts';
import { openHttp, openWebSocket, type Connection, type ConnectionHandler } from './connections.ts';
import type { Random } from './random.ts';

/** The destination of calls. */
export interface Endpoint {
  readonly port: number;
  /** Paths of the requests, in turn. */
  readonly paths: readonly string[];
  readonly isWebSocket?: boolean;
}

/** Latencies in ms. */
export interface Latencies {
  readonly p50: number;
  readonly p99: number;
}

/** A client connection, its message in progress, and the time at which that was due. */
interface Client {
  connection: Connection;
  sent: CallBatch | undefined;
  dueAt: number;
}

/** Sends calls over a fixed number of open connections, each with at most one message in progress. */
export class LoadGenerator {
  readonly #calls: CheckedCalls;
  readonly #clients: Client[] = [];
  /** Latencies of this load so far, in ms. */
  #times: number[] = [];
  /** Listener for the time when a client has no message in progress any more. */
  #onFree: (client: Client) => void = () => undefined;
  #nextPath = 0;

  private constructor(calls: CheckedCalls) {
    this.#calls = calls;
  }

  static async open(endpoint: Endpoint, count: number, calls: CheckedCalls): Promise<LoadGenerator> {
    const load = new LoadGenerator(calls);
    while (load.#clients.length < count) await load.#openOne(endpoint);
    return load;
  }

  /**
   * Generates full load: every client sends its next message when it gets a response. This process never sleeps meanwhile,
   * because waking it would cost CPU time of the process that writes to it.
   * @param hasOwnCore false: it sleeps, because it shares its core with the process under test
   * @returns seconds until the last response
   */
  async saturate(seconds: number, hasOwnCore = true): Promise<number> {
    this.#times = [];
    const startedAt = performance.now();
    const deadline = startedAt + seconds * 1_000;
    await new Promise<void>((resolve) => {
      let active = this.#clients.length;
      this.#onFree = (client) => {
        const now = performance.now();
        if (now < deadline && client.sent === undefined) this.#send(client, now);
        else if (--active === 0) resolve();
      };
      for (const client of this.#clients) this.#send(client, performance.now());
      const stayAwake = (): void => {
        if (active > 0) setImmediate(stayAwake);
      };
      if (hasOwnCore) stayAwake();
    });
    return (performance.now() - startedAt) / 1_000;
  }

  /**
   * Sends messages at random times with this average rate, as independent clients do. A latency starts when the message is
   * due, so that it includes the wait for a free connection. This process never sleeps meanwhile, because timers are up to
   * a millisecond late.
   */
  async sendAtRate(perSecond: number, seconds: number, random: Random): Promise<Latencies> {
    this.#times = [];
    const free = [...this.#clients];
    const due: number[] = [];
    const startedAt = performance.now();
    const deadline = startedAt + seconds * 1_000;
    let nextAt = startedAt;
    let active = 0;
    await new Promise<void>((resolve) => {
      const work = (): void => {
        const now = performance.now();
        while (nextAt <= now && nextAt < deadline) {
          due.push(nextAt);
          nextAt += (-Math.log(1 - random.next()) * 1_000) / perSecond;
        }
        while (due.length > 0 && free.length > 0) {
          active++;
          this.#send(free.shift() as Client, due.shift() ?? now);
        }
        if (now > deadline && (active === 0 || now > deadline + 5_000)) resolve();
        else setImmediate(work);
      };
      this.#onFree = (client) => {
        active--;
        if (client.sent === undefined) free.push(client);
      };
      work();
    });
    return this.latencies;
  }

  /** Latencies of the last load. */
  get latencies(): Latencies {
    const times = this.#times.toSorted((a, b) => a - b);
    const at = (share: number): number => times[Math.floor(times.length * share)] ?? NaN;
    return { p50: at(0.5), p99: at(0.99) };
  }

  get outcomes(): Readonly<Outcomes> {
    return this.#calls.outcomes;
  }

  close(): void {
    for (const { connection } of this.#clients) connection.close();
  }

  #send(client: Client, dueAt: number): void {
    const sent = this.#calls.next();
    client.sent = sent;
    client.dueAt = dueAt;
    client.connection.send(sent.text);
  }

  async #openOne({ port, paths, isWebSocket = false }: Endpoint): Promise<void> {
    const nextPath = (): string => paths[this.#nextPath++ % paths.length] ?? '/';
    const handler: ConnectionHandler = {
      onResponse: (body) => {
        this.#times.push(performance.now() - client.dueAt);
        this.#calls.addResponse(client.sent as CallBatch, body);
        client.sent = undefined;
        this.#onFree(client);
      },
      onFailure: () => {
        if (client.sent === undefined) return;
        this.#times.push(performance.now() - client.dueAt);
        // `sent` stays set, so that the client is not used again.
        this.#calls.addLost(client.sent);
        this.#onFree(client);
      },
    };
    const client: Client = {
      connection: await (isWebSocket ? openWebSocket(port, nextPath(), handler) : openHttp(port, nextPath, handler)),
      sent: undefined,
      dueAt: 0,
    };
    this.#clients.push(client);
  }
}
