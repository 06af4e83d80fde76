import { isDeepStrictEqual } from 'node:util';
import { SLOT, slotOf, type CallKind } from './wallet-calls.ts';

/** What became of calls. */
export interface Outcomes {
  right: number;
  /** Answered with an error. */
  refused: number;
  /** Answered wrongly, or not at all. */
  failed: number;
}

interface ExpectedCall {
  readonly id: number;
  readonly kind: CallKind;
  readonly slot: string;
}

/** What is sent at once. */
export interface CallBatch {
  readonly text: string;
  readonly calls: readonly ExpectedCall[];
}

type ResponseObject = Readonly<Record<string, unknown>>;

/** Makes calls of a mix, in turns, and holds every answer against the call that it is to. */
export class CheckedCalls {
  readonly outcomes: Outcomes = { right: 0, refused: 0, failed: 0 };
  readonly #kinds: readonly CallKind[];
  readonly #params: ReadonlyMap<CallKind, readonly string[]>;
  /** Results as they came when they were looked at whole: parsing every answer would cost more than the gateway. */
  readonly #results: Map<CallKind, readonly string[]>;
  readonly #batch: number;
  readonly #distinct: number;
  #next = 0;

  /**
   * @param batch calls in a batch; 0: single calls
   * @param distinct after so many calls they are asked again
   */
  constructor(kinds: readonly CallKind[], batch = 0, distinct = Infinity) {
    this.#kinds = kinds;
    this.#batch = batch;
    this.#distinct = distinct;
    this.#params = new Map(kinds.map((kind) => [kind, kind.params.split(SLOT)]));
    this.#results = new Map(kinds.map((kind) => [kind, kind.result.split(SLOT)]));
  }

  next(): CallBatch {
    const calls = Array.from({ length: this.#batch || 1 }, () => this.#nextCall());
    const texts = calls.map(({ id, kind, slot }) => {
      const params = this.#params.get(kind)?.join(slot) ?? '';
      return `{"jsonrpc":"2.0","id":${id},"method":"${kind.method}","params":${params}}`;
    });
    return { calls, text: this.#batch === 0 ? (texts[0] ?? '') : `[${texts.join(',')}]` };
  }

  answered(sent: CallBatch, body: string): void {
    const expected = sent.calls.map((call) => this.#expected(call));
    if (body === (this.#batch === 0 ? expected[0] : `[${expected.join(',')}]`)) {
      this.outcomes.right += sent.calls.length;
      return;
    }
    const responses = parse(body);
    const list = Array.isArray(responses)
      ? (responses as (ResponseObject | undefined)[])
      : [responses as ResponseObject | undefined];
    const isComplete = (this.#batch === 0) === !Array.isArray(responses) || list.length === 1;
    for (const [index, call] of sent.calls.entries()) {
      // One error may stand for a whole batch.
      const response = list.length === 1 && this.#batch > 0 ? list[0] : list[index];
      const outcome = isComplete ? outcomeOf(call, response) : 'failed';
      this.outcomes[outcome]++;
      if (outcome === 'right' && this.#batch === 0) this.#learn(call, body);
    }
  }

  /** No answer will come. */
  lost(sent: CallBatch): void {
    this.outcomes.failed += sent.calls.length;
  }

  #nextCall(): ExpectedCall {
    const number = this.#next++ % this.#distinct;
    const kind = this.#kinds[number % this.#kinds.length] as CallKind;
    return { id: this.#next, kind, slot: slotOf(number) };
  }

  #expected({ id, kind, slot }: ExpectedCall): string {
    return `{"jsonrpc":"2.0","id":${id},"result":${this.#results.get(kind)?.join(slot) ?? ''}}`;
  }

  #learn({ id, kind, slot }: ExpectedCall, body: string): void {
    const before = `{"jsonrpc":"2.0","id":${id},"result":`;
    if (body.startsWith(before)) this.#results.set(kind, body.slice(before.length, -1).split(slot));
  }
}

function outcomeOf({ id, kind, slot }: ExpectedCall, rpcResponse: ResponseObject | undefined): keyof Outcomes {
  if (typeof rpcResponse !== 'object') return 'failed';
  if (rpcResponse['error'] !== undefined) return 'refused';
  if (rpcResponse['jsonrpc'] !== '2.0' || rpcResponse['id'] !== id) return 'failed';
  const response: unknown = JSON.parse(kind.result.replaceAll(SLOT, slot));
  return agrees(response, rpcResponse['result']) ? 'right' : 'failed';
}

/** An answer has all that the node said; what it lacked by the specification may stand there as null. */
function agrees(response: unknown, answered: unknown): boolean {
  if (typeof response !== 'object' || response === null || Array.isArray(response))
    return isDeepStrictEqual(response, answered);
  if (typeof answered !== 'object' || answered === null) return false;
  const names = new Set([...Object.keys(response), ...Object.keys(answered)]);
  return [...names].every((name) =>
    isDeepStrictEqual((response as ResponseObject)[name] ?? null, (answered as ResponseObject)[name] ?? null),
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
