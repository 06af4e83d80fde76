import { isDeepStrictEqual } from 'node:util';
import { SLOT, slotOf, type CallKind } from './wallet-calls.ts';

/** Numbers of calls by outcome. */
export interface Outcomes {
  correct: number;
  /** The response is an error. */
  rejected: number;
  /** The response is wrong or missing. */
  failed: number;
}

interface ExpectedCall {
  readonly id: number;
  readonly kind: CallKind;
  readonly slot: string;
}

/** The calls of one message: a single call or a batch. */
export interface CallBatch {
  readonly text: string;
  readonly calls: readonly ExpectedCall[];
}

type ResponseObject = Readonly<Record<string, unknown>>;

/** A load sends fewer calls. */
const CALLS_PER_LOAD = 1_000_000;
let loads = 0;

/** The number of the first call of a load, so that none of its calls is in a cache. */
export function firstOfLoad(): number {
  return CALLS_PER_LOAD * loads++;
}

/** Creates calls of a mix in turn, and compares every response with its call. */
export class CheckedCalls {
  readonly outcomes: Outcomes = { correct: 0, rejected: 0, failed: 0 };
  readonly #kinds: readonly CallKind[];
  readonly #params: ReadonlyMap<CallKind, readonly string[]>;
  /**
   * Result texts of the last response that was parsed and correct. Later responses are compared as text, because parsing
   * every response would cost more CPU than the gateway uses.
   */
  readonly #results: Map<CallKind, readonly string[]>;
  readonly #batchSize: number;
  readonly #distinct: number;
  readonly #first: number;
  #next = 0;

  /**
   * @param batchSize calls in a batch; 0: single calls
   * @param distinct number of different calls, after which they repeat
   * @param first number of the first call
   */
  constructor(kinds: readonly CallKind[], batchSize = 0, distinct = Infinity, first = 0) {
    this.#kinds = kinds;
    this.#batchSize = batchSize;
    this.#distinct = distinct;
    this.#first = first;
    this.#params = new Map(kinds.map((kind) => [kind, kind.params.split(SLOT)]));
    this.#results = new Map(kinds.map((kind) => [kind, kind.result.split(SLOT)]));
  }

  next(): CallBatch {
    const calls = Array.from({ length: this.#batchSize || 1 }, () => this.#nextCall());
    const texts = calls.map(({ id, kind, slot }) => {
      const params = this.#params.get(kind)?.join(slot) ?? '';
      return `{"jsonrpc":"2.0","id":${id},"method":"${kind.method}","params":${params}}`;
    });
    return { calls, text: this.#batchSize === 0 ? (texts[0] ?? '') : `[${texts.join(',')}]` };
  }

  addResponse(sent: CallBatch, body: string): void {
    const expected = sent.calls.map((call) => this.#expected(call));
    if (body === (this.#batchSize === 0 ? expected[0] : `[${expected.join(',')}]`)) {
      this.outcomes.correct += sent.calls.length;
      return;
    }
    const responses = parse(body);
    const list = Array.isArray(responses)
      ? (responses as (ResponseObject | undefined)[])
      : [responses as ResponseObject | undefined];
    const isComplete = (this.#batchSize === 0) === !Array.isArray(responses) || list.length === 1;
    for (const [index, call] of sent.calls.entries()) {
      // One error may be the response to a whole batch.
      const response = list.length === 1 && this.#batchSize > 0 ? list[0] : list[index];
      const outcome = isComplete ? outcomeOf(call, response) : 'failed';
      this.outcomes[outcome]++;
      if (outcome === 'correct' && this.#batchSize === 0) this.#rememberResult(call, body);
    }
  }

  /** Counts the calls of a message that gets no response. */
  addLost(sent: CallBatch): void {
    this.outcomes.failed += sent.calls.length;
  }

  #nextCall(): ExpectedCall {
    const number = this.#first + (this.#next++ % this.#distinct);
    const kind = this.#kinds[number % this.#kinds.length] as CallKind;
    return { id: this.#next, kind, slot: slotOf(number) };
  }

  #expected({ id, kind, slot }: ExpectedCall): string {
    return `{"jsonrpc":"2.0","id":${id},"result":${this.#results.get(kind)?.join(slot) ?? ''}}`;
  }

  #rememberResult({ id, kind, slot }: ExpectedCall, body: string): void {
    const before = `{"jsonrpc":"2.0","id":${id},"result":`;
    if (body.startsWith(before)) this.#results.set(kind, body.slice(before.length, -1).split(slot));
  }
}

function outcomeOf({ id, kind, slot }: ExpectedCall, response: ResponseObject | undefined): keyof Outcomes {
  if (typeof response !== 'object') return 'failed';
  if (response['error'] !== undefined) return 'rejected';
  if (response['jsonrpc'] !== '2.0' || response['id'] !== id) return 'failed';
  const expected: unknown = JSON.parse(kind.result.replaceAll(SLOT, slot));
  return isSameResult(expected, response['result']) ? 'correct' : 'failed';
}

/** Whether all fields are equal. A field that the node omits may be null, because the gateway completes results. */
function isSameResult(expected: unknown, actual: unknown): boolean {
  if (typeof expected !== 'object' || expected === null || Array.isArray(expected))
    return isDeepStrictEqual(expected, actual);
  if (typeof actual !== 'object' || actual === null) return false;
  const names = new Set([...Object.keys(expected), ...Object.keys(actual)]);
  return [...names].every((name) =>
    isDeepStrictEqual((expected as ResponseObject)[name] ?? null, (actual as ResponseObject)[name] ?? null),
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
