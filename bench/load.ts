import type { CallBatch, CheckedCalls, Outcomes } from './checked-calls.ts';
import { openHttp, openWebSocket, type Connection, type Listener } from './connections.ts';
import type { Random } from './random.ts';

/** Where calls are sent. */
export interface Endpoint {
  readonly port: number;
  /** Used in turns. */
  readonly paths: readonly string[];
  readonly isWebSocket?: boolean;
}

export interface Latencies {
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/** A connection, what was sent over it last, and when it should have been. */
interface Line {
  connection: Connection;
  sent: CallBatch | undefined;
  dueAt: number;
}

/** Connections that are kept open, each with one message under way at most. */
export class Lines {
  readonly #calls: CheckedCalls;
  readonly #lines: Line[] = [];
  /** Called when a line is free again. */
  #onFree: (line: Line) => void = () => undefined;
  #path = 0;

  private constructor(calls: CheckedCalls) {
    this.#calls = calls;
  }

  static async open(endpoint: Endpoint, count: number, calls: CheckedCalls): Promise<Lines> {
    const lines = new Lines(calls);
    while (lines.#lines.length < count) await lines.#openOne(endpoint);
    return lines;
  }

  /**
   * Each sends the next as soon as the last is answered: as much as there can be. This process never sleeps meanwhile: to
   * wake it would be work of whoever writes to it, and more of it the more time it has to fall asleep.
   * @returns seconds until the last answer
   */
  async flood(seconds: number): Promise<number> {
    const from = performance.now();
    const until = from + seconds * 1_000;
    await new Promise<void>((resolve) => {
      let open = this.#lines.length;
      this.#onFree = (line) => {
        if (performance.now() < until && line.sent === undefined) this.#send(line, 0);
        else if (--open === 0) resolve();
      };
      for (const line of this.#lines) this.#send(line, 0);
      const stayAwake = (): void => {
        if (open > 0) setImmediate(stayAwake);
      };
      stayAwake();
    });
    return (performance.now() - from) / 1_000;
  }

  /**
   * So many messages a second, at moments of chance, as callers who know nothing of each other send them. Times count
   * from when a message was due, so that one that waits for a free connection counts as late. This process never sleeps
   * meanwhile: timers are a millisecond late.
   */
  async pace(perSecond: number, seconds: number, random: Random): Promise<Latencies> {
    const times: number[] = [];
    const free = [...this.#lines];
    const due: number[] = [];
    const from = performance.now();
    const until = from + seconds * 1_000;
    let next = from;
    let open = 0;
    await new Promise<void>((resolve) => {
      const work = (): void => {
        const now = performance.now();
        while (next <= now && next < until) {
          due.push(next);
          next += (-Math.log(1 - random.next()) * 1_000) / perSecond;
        }
        while (due.length > 0 && free.length > 0) {
          open++;
          this.#send(free.pop() as Line, due.shift() ?? now);
        }
        if (now > until && (open === 0 || now > until + 5_000)) resolve();
        else setImmediate(work);
      };
      this.#onFree = (line) => {
        open--;
        times.push(performance.now() - line.dueAt);
        if (line.sent === undefined) free.push(line);
      };
      work();
    });
    times.sort((a, b) => a - b);
    const at = (share: number): number => times[Math.floor(times.length * share)] ?? NaN;
    return { p50: at(0.5), p99: at(0.99) };
  }

  get outcomes(): Readonly<Outcomes> {
    return this.#calls.outcomes;
  }

  close(): void {
    for (const { connection } of this.#lines) connection.close();
  }

  #send(line: Line, dueAt: number): void {
    const sent = this.#calls.next();
    line.sent = sent;
    line.dueAt = dueAt;
    line.connection.send(sent.text);
  }

  async #openOne({ port, paths, isWebSocket = false }: Endpoint): Promise<void> {
    const nextPath = (): string => paths[this.#path++ % paths.length] ?? '/';
    const listener: Listener = {
      answered: (body) => {
        this.#calls.answered(line.sent as CallBatch, body);
        line.sent = undefined;
        this.#onFree(line);
      },
      failed: () => {
        if (line.sent === undefined) return;
        // It stays asked, and is used no more.
        this.#calls.lost(line.sent);
        this.#onFree(line);
      },
    };
    const line: Line = {
      connection: await (isWebSocket ? openWebSocket(port, nextPath(), listener) : openHttp(port, nextPath, listener)),
      sent: undefined,
      dueAt: 0,
    };
    this.#lines.push(line);
  }
}
