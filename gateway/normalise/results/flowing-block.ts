import { isUtf8 } from 'node:buffer';
import { JsonReader, NotJson } from '../../json/json-reader.ts';
import { ValueEnd } from '../../json/value-end.ts';
import type { MethodSpec, ObjectShape } from '../../spec/method-spec.ts';
import type { ResultReader } from '../../upstreams/transport/flowing-result.ts';
import { malformed } from '../../upstreams/transport/upstream-response.ts';
import { checkObject, isPendingBlock } from './check-result.ts';
import { completeExactly, completeResult } from './complete-object.ts';
import { FlowingList, parseObject } from './flowing-list.ts';
import { learned } from './layout.ts';
import type { ObjectStatus } from './object-rules.ts';

/** A block must have them before its transactions: the chain of the network is compared with them. */
const identifying = ['number', 'hash'];

/** Text that makes an object of the bytes before the transactions. */
const HEAD_END = '[]}';
/** Text that makes an object of the bytes after the transactions, which are `}` or begin with a comma. */
const TAIL_START = '{"":0';

type JsonObject = Record<string, unknown>;

/** Whether the result is a block with whole transactions. */
export function isWholeBlock({ shape, details }: MethodSpec, params: readonly unknown[]): boolean {
  if (shape?.type !== 'Block' || details === undefined || isPendingBlock(shape, params)) return false;
  return shape.demand.length === 0 && params[details.param] === true;
}

/**
 * Checks a block with its transactions while it arrives, as `checkResult` checks a whole one: what is before the transactions
 * when these begin, each transaction when it is complete, and the rest at its end.
 */
export class FlowingBlock implements ResultReader {
  readonly #method: MethodSpec;
  readonly #params: readonly unknown[];
  readonly #shape: ObjectShape;
  readonly #listField: string;
  readonly #isUsable: (head: Buffer) => boolean;
  readonly #onTransactions: (head: Buffer, hashes: readonly string[]) => void;
  readonly #transactions: FlowingList;
  readonly #end = new ValueEnd(1);
  /** Names of the fields before the transactions. */
  #names: readonly string[] = [];
  /** The bytes after the transactions, once these have ended. */
  #tail: Buffer[] | undefined;
  /** The bytes before the transactions. */
  head: Buffer | undefined;

  /**
   * @param isUsable whether the block may be passed on, by the bytes before its transactions
   * @param onTransactions gets those bytes and the hashes of the transactions in a chunk
   */
  constructor(
    method: MethodSpec,
    params: readonly unknown[],
    isUsable: (head: Buffer) => boolean,
    onTransactions: (head: Buffer, hashes: readonly string[]) => void,
    layouts = learned,
  ) {
    this.#method = method;
    this.#params = params;
    this.#shape = method.shape as ObjectShape;
    this.#listField = method.details?.field ?? '';
    this.#isUsable = isUsable;
    this.#onTransactions = onTransactions;
    const shape = this.#shape.nested[this.#listField] as ObjectShape;
    const elements = { shape, expected: [], complete: (element: JsonObject) => completeResult(element, shape) };
    this.#transactions = new FlowingList(elements, layouts);
  }

  read(chunk: Buffer, passed: Buffer[]): number {
    if (this.#tail !== undefined) return this.#readTail(chunk, 0, passed);
    let start = 0;
    if (this.head === undefined) {
      this.head = this.#readHead(chunk);
      passed.push(this.head);
      start = this.head.length;
    }
    const end = this.#transactions.read(chunk.subarray(start), passed);
    const hashes = this.#transactions.hashes.splice(0);
    if (hashes.length > 0) this.#onTransactions(this.head, hashes);
    if (end === -1) return -1;
    this.#tail = [];
    return this.#readTail(chunk, start + end, passed);
  }

  /** @throws UpstreamFailure if the block must be collected: its first bytes have no transactions, or must be changed */
  #readHead(chunk: Buffer): Buffer {
    const head = headIn(chunk, Buffer.from(this.#listField));
    if (head === undefined || !isUtf8(head)) throw malformed('the block must be collected');
    const { value, completed } = this.#complete(`${head.toString()}${HEAD_END}`, [], (object, shape) =>
      checkObject({ ...this.#method, shape }, this.#params, object),
    );
    this.#names = Object.keys(value);
    const isWhole = completed === undefined && identifying.every((name) => name in value);
    if (!isWhole || !this.#isUsable(head)) throw malformed('the block must be collected');
    return head;
  }

  #readTail(chunk: Buffer, start: number, passed: Buffer[]): number {
    const bytes = chunk.subarray(start);
    const end = this.#end.find(bytes);
    this.#tail?.push(end === -1 ? bytes : bytes.subarray(0, end));
    if (end === -1) return -1;
    passed.push(this.#completeTail(Buffer.concat(this.#tail ?? [])));
    return start + end;
  }

  /** The members after the transactions, with the fields that the whole block lacks. @param tail up to the end of the block */
  #completeTail(tail: Buffer): Buffer {
    const fill = this.#shape.fill.filter((name) => !this.#names.includes(name));
    const { value, completed } = this.#complete(`${TAIL_START}${tail.toString()}`, fill, completeResult);
    for (const name of this.#names) if (name in value) throw malformed('the block has a field twice');
    if (completed === undefined) return tail;
    // JSON.stringify writes names that are integers first.
    if (!completed.startsWith(TAIL_START)) throw malformed('the block has a field whose name is a number');
    return Buffer.from(completed.slice(TAIL_START.length));
  }

  /** @returns `completed`: as JSON, if it had to be changed @throws UpstreamFailure */
  #complete(
    text: string,
    fill: readonly string[],
    complete: (object: JsonObject, shape: ObjectShape) => ObjectStatus,
  ): { readonly value: JsonObject; readonly completed?: string } {
    const shape = { ...this.#shape, fill };
    const parsed = parseObject(Buffer.from(text), text);
    const found = completeExactly(parsed, text, this.#shape, (object) => complete(object as JsonObject, shape));
    const value = found.value as JsonObject;
    if (found.status === 'fits') return { value };
    if (found.status !== 'completed') throw malformed('a part of the block is not usable');
    return { value, completed: found.text ?? JSON.stringify(value) };
  }
}

/** The bytes before the transactions. Undefined: the chunk does not have all of them. */
function headIn(chunk: Buffer, listField: Buffer): Buffer | undefined {
  const reader = new JsonReader(chunk);
  try {
    reader.enterObject();
    while (reader.nextMember()) {
      if (reader.isName(listField)) return chunk.subarray(0, reader.at);
      reader.skipValue();
    }
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
  }
  return undefined;
}
