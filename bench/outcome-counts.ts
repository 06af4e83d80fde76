import type { KnownCall } from './known-calls.ts';

interface PendingCall {
  readonly call: KnownCall;
  readonly at: number;
}

export interface Counts {
  readonly sent: number;
  readonly right: number;
  /** Answered with -32603: no upstream could answer. */
  readonly refused: number;
  /** Those of them that were made while an upstream was good, and this process was in time. */
  readonly refusedInVain: number;
  readonly wrong: number;
  /** Answered under an id that nobody waits for: a second time, or another's. */
  readonly untried: number;
  readonly unacknowledged: number;
  readonly slowestMs: number;
}

const NO_UPSTREAM = -32603;

/** Holds every answer against the call that has its id. */
export class OutcomeCounts {
  readonly #open = new Map<string, PendingCall>();
  readonly #isExcused: (since: number) => boolean;
  readonly #counts = { sent: 0, right: 0, refused: 0, refusedInVain: 0, wrong: 0, untried: 0, slowestMs: 0 };
  readonly #onFault: (text: string) => void;
  #id = 0;

  /**
   * @param isExcused whether, at some time since, no upstream was good
   * @param onFault hears of what must not be
   */
  constructor(isExcused: (since: number) => boolean, onFault: (text: string) => void) {
    this.#isExcused = isExcused;
    this.#onFault = onFault;
  }

  /** @returns the call as a JSON-RPC request object; ids are numbers and texts by turns */
  request(call: KnownCall): { readonly id: unknown; readonly request: object } {
    const number = ++this.#id;
    const id = number % 3 === 0 ? `call-${number}` : number;
    this.#open.set(JSON.stringify(id), { call, at: performance.now() });
    this.#counts.sent++;
    return { id, request: { jsonrpc: '2.0', id, method: call.method, params: call.params } };
  }

  answered(response: { id?: unknown; result?: unknown; error?: { code: number } }): void {
    const id = JSON.stringify(response.id);
    const sent = this.#open.get(id);
    if (sent === undefined) {
      this.#counts.untried++;
      this.#onFault(`nobody waits for ${JSON.stringify(response).slice(0, 300)}`);
      return;
    }
    this.#open.delete(id);
    const { call, at } = sent;
    this.#counts.slowestMs = Math.max(this.#counts.slowestMs, performance.now() - at);
    if (call.isRight(response)) this.#counts.right++;
    else if (response.error?.code === NO_UPSTREAM) {
      this.#counts.refused++;
      if (!this.#isExcused(at)) {
        this.#counts.refusedInVain++;
        this.#onFault(`refused ${call.method}: ${JSON.stringify(response)}`);
      }
    } else {
      this.#counts.wrong++;
      this.#onFault(
        `wrong for ${call.method} ${JSON.stringify(call.params)}: ${JSON.stringify(response).slice(0, 300)}`,
      );
    }
  }

  /** The caller left: it hears no answer. */
  forget(id: unknown): void {
    this.#open.delete(JSON.stringify(id));
    this.#counts.sent--;
  }

  get counts(): Counts {
    return { ...this.#counts, unacknowledged: this.#open.size };
  }
}
