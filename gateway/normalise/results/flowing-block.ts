import { isObject } from '../../collections/is-object.ts';
import { isAt, JsonReader, NotJson } from '../../json/json-reader.ts';
import { isPlain } from '../../json/plain-bytes.ts';
import { ValueEnd } from '../../json/value-end.ts';
import type { MethodSpec, ObjectShape } from '../../spec/method-spec.ts';
import type { ResultReader } from '../../upstreams/transport/flowing-result.ts';
import { expectedBytes, learned } from './check-result-bytes.ts';
import { isPendingBlock, quantitiesIn } from './check-result.ts';
import { completeResult, withQuantities } from './complete-object.ts';
import { FlowingList, malformed, parseJson, type ElementCheck } from './flowing-list.ts';
import { viewOf } from './object-view.ts';
import { withAllDigits, withHexNumbers } from './quantity.ts';
import { valueOf, type ExpectedBytes } from './result-walk.ts';

/** A block must have them before its transactions: the chain of the network is compared with them. */
const identifying = ['number', 'hash'];

/** Text that makes an object of the bytes after the transactions, which are `}` or begin with a comma. */
const TAIL_START = '{"":0';

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
  readonly #shape: ObjectShape;
  readonly #listField: string;
  readonly #expected: readonly ExpectedBytes[];
  readonly #isEchoed: (bytes: Buffer) => boolean;
  readonly #isUsable: (head: Buffer) => boolean;
  readonly #onTransactions: (head: Buffer, hashes: readonly string[]) => void;
  readonly #transactions: FlowingList;
  readonly #end = new ValueEnd(1);
  /** Names of the fields before the transactions. */
  readonly #names = new Set<string>();
  /** The bytes after the transactions, once these have ended. */
  #tail: Buffer[] | undefined;
  /** The bytes before the transactions. */
  head: Buffer | undefined;

  /**
   * @param isEchoed whether bytes have a credential of the upstream
   * @param isUsable whether the block may be passed on, by the bytes before its transactions
   * @param onTransactions gets those bytes and the hashes of the transactions in a chunk
   */
  constructor(
    method: MethodSpec,
    params: readonly unknown[],
    isEchoed: (bytes: Buffer) => boolean,
    isUsable: (head: Buffer) => boolean,
    onTransactions: (head: Buffer, hashes: readonly string[]) => void,
    layouts = learned,
  ) {
    this.#shape = method.shape as ObjectShape;
    this.#listField = method.details?.field ?? '';
    this.#expected = expectedBytes(method, params);
    this.#isEchoed = isEchoed;
    this.#isUsable = isUsable;
    this.#onTransactions = onTransactions;
    this.#transactions = new FlowingList(
      transactionsOf(this.#shape.nested[this.#listField] as ObjectShape),
      isEchoed,
      layouts,
    );
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
    try {
      const head = isPlain(chunk) ? this.#headIn(chunk) : undefined;
      if (head !== undefined && !this.#isEchoed(head) && this.#isUsable(head)) return head;
    } catch (error) {
      if (!(error instanceof NotJson)) throw error;
    }
    throw malformed('the block must be collected');
  }

  #headIn(chunk: Buffer): Buffer | undefined {
    const reader = new JsonReader(chunk, { isPlain: true });
    const { fields } = viewOf(this.#shape);
    if (!reader.isAtObject) return undefined;
    reader.enterObject();
    while (reader.nextMember()) {
      const name = chunk.toString('latin1', reader.nameStart, reader.nameEnd);
      if (name === this.#listField) return this.#hasIdentity() ? chunk.subarray(0, reader.at) : undefined;
      const start = reader.at;
      reader.skipValue();
      const field = fields.get(name);
      if (field?.elements !== undefined || field?.rule?.fits(valueOf(chunk, start, reader.at)) === false)
        return undefined;
      const isOther = this.#expected.some((one) => one.name === name && !isAt(one.value, chunk, start, reader.at));
      if (isOther) return undefined;
      this.#names.add(name);
    }
    return undefined;
  }

  #hasIdentity(): boolean {
    return [...identifying, ...this.#expected.map(({ name }) => name)].every((name) => this.#names.has(name));
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
    if (this.#isEchoed(tail)) throw malformed('the result has a credential');
    const fill = this.#shape.fill.filter((name) => !this.#names.has(name) && name !== this.#listField);
    const { value, completed } = completeJson(`${TAIL_START}${tail.toString('utf8')}`, { ...this.#shape, fill });
    for (const name of [...this.#names, this.#listField])
      if (name in value) throw malformed('the block has a field twice');
    return completed === undefined ? tail : Buffer.from(completed.slice(TAIL_START.length));
  }
}

function transactionsOf(shape: ObjectShape): ElementCheck {
  return {
    shape,
    expected: [],
    complete(element) {
      const { value, completed } = completeJson(element.toString('utf8'), shape);
      return { bytes: completed === undefined ? element : Buffer.from(completed), hash: value['hash'] };
    },
  };
}

/** @returns `completed`: as JSON, if it had to be changed @throws UpstreamFailure if the text is not that of an object */
function completeJson(text: string, shape: ObjectShape): { value: Record<string, unknown>; completed?: string } {
  const quantities = new Set(quantitiesIn(shape));
  const found = withQuantities((areExact) => {
    const value = parseObject(areExact ? withHexNumbers(text, quantities) : text);
    if (completeResult(value, shape) === 'fits' && !areExact) return { value };
    const completed = withAllDigits(text, quantities, (given) => {
      completeResult(given as Record<string, unknown>, shape);
      return given;
    });
    return { value, completed: completed ?? JSON.stringify(value) };
  });
  if (found === undefined) throw malformed('a quantity is no whole number');
  return found;
}

function parseObject(text: string): Record<string, unknown> {
  const value = parseJson(Buffer.from(text), text);
  if (!isObject(value)) throw malformed('a part of the block is no object');
  return value;
}
