import type { KnownCall } from './known-calls.ts';
import { callText, responseText, type RecentEvents } from './recent-events.ts';

interface PendingCall {
  readonly call: KnownCall;
  readonly sentAt: number;
}

export interface Counts {
  readonly sent: number;
  readonly correct: number;
  /** Calls with the error -32603 `no upstream could answer`. */
  readonly failed: number;
  /** Large results whose upstream failed after the first byte, so that the connection ended. */
  readonly incomplete: number;
  /** Failed calls although an upstream worked, while a process was delayed. */
  readonly excused: number;
  /** Failed calls although an upstream worked and no process was delayed. */
  readonly failedUnexpectedly: number;
  readonly wrong: number;
  /** Responses with an id that is not pending: duplicates, or responses to other calls. */
  readonly unexpected: number;
  readonly pending: number;
  readonly slowestMs: number;
}

/** Whether a call may fail, by the time since which it was pending. */
export interface Conditions {
  /** No upstream worked at some time since. */
  readonly hadNoUpstream: (since: number) => boolean;
  /** An upstream failed at some time since. */
  readonly hadFault: (since: number) => boolean;
  /** A process was delayed since. */
  readonly wasDelayed: (since: number) => boolean;
}

const NO_UPSTREAM = -32603;

/** Compares every response with the call of the same id, and counts the outcomes. */
export class OutcomeCounts {
  readonly #pending = new Map<string, PendingCall>();
  readonly #conditions: Conditions;
  readonly #counts = {
    ...{ sent: 0, correct: 0, failed: 0, incomplete: 0, excused: 0, failedUnexpectedly: 0, wrong: 0, unexpected: 0 },
    slowestMs: 0,
  };
  readonly #onFault: (text: string, call: string) => void;
  readonly #events: RecentEvents | undefined;
  #id = 0;

  /** @param onFault is called with a description of each wrong outcome, and the call as in `events` */
  constructor(conditions: Conditions, onFault: (text: string, call: string) => void, events?: RecentEvents) {
    this.#events = events;
    this.#conditions = conditions;
    this.#onFault = onFault;
  }

  /** @returns the call as a JSON-RPC request object; every third id is a string */
  request(call: KnownCall): { readonly id: unknown; readonly request: object } {
    const number = ++this.#id;
    const id = number % 3 === 0 ? `call-${number}` : number;
    this.#pending.set(JSON.stringify(id), { call, sentAt: performance.now() });
    this.#counts.sent++;
    return { id, request: { jsonrpc: '2.0', id, method: call.method, params: call.params } };
  }

  addResponse(response: { id?: unknown; result?: unknown; error?: { code: number } }): void {
    const id = JSON.stringify(response.id);
    const sent = this.#pending.get(id);
    if (sent === undefined) {
      this.#counts.unexpected++;
      this.#onFault(`unexpected id in ${JSON.stringify(response).slice(0, 300)}`, '');
      return;
    }
    this.#pending.delete(id);
    const { call, sentAt } = sent;
    const ms = performance.now() - sentAt;
    this.#counts.slowestMs = Math.max(this.#counts.slowestMs, ms);
    const text = callText(call.method, call.params);
    this.#events?.addExchange(`client: ${text}: ${responseText(response)} after ${ms.toFixed(0)} ms`);
    if (call.isCorrect(response)) this.#counts.correct++;
    else if (response.error?.code === NO_UPSTREAM) {
      this.#counts.failed++;
      if (this.#conditions.hadNoUpstream(sentAt)) return;
      if (this.#conditions.wasDelayed(sentAt)) this.#counts.excused++;
      else {
        this.#counts.failedUnexpectedly++;
        this.#onFault(`no upstream for ${text} after ${ms.toFixed(0)} ms: ${JSON.stringify(response)}`, text);
      }
    } else {
      this.#counts.wrong++;
      this.#onFault(
        `wrong for ${call.method} ${JSON.stringify(call.params)}: ${JSON.stringify(response).slice(0, 300)}`,
        text,
      );
    }
  }

  /** The gateway ended the connection after the head of a response. @param isBatch whose results do not flow */
  connectionEnded(ids: readonly unknown[], isBatch: boolean): void {
    const sent = ids.flatMap((id) => this.#pending.get(JSON.stringify(id)) ?? []);
    if (!isBatch && sent.every(({ call, sentAt }) => call.flows === true && this.#conditions.hadFault(sentAt)))
      this.#counts.incomplete++;
    else {
      this.#counts.wrong += sent.length;
      this.#onFault(`the connection ended: ${sent.map(({ call }) => call.method).join(', ')}`, '');
    }
    for (const id of ids) this.#pending.delete(JSON.stringify(id));
  }

  /** Removes a call whose client disconnected, so that no response is expected. */
  discard(id: unknown): void {
    this.#pending.delete(JSON.stringify(id));
    this.#counts.sent--;
  }

  get counts(): Counts {
    return { ...this.#counts, pending: this.#pending.size };
  }
}
