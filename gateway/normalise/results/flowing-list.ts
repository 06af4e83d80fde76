import { JsonReader, NotJson } from '../../json/json-reader.ts';
import { exceeds } from '../../json/nesting.ts';
import { isPlain } from '../../json/plain-bytes.ts';
import { ValueEnd } from '../../json/value-end.ts';
import type { MethodSpec, ObjectShape } from '../../spec/method-spec.ts';
import { MAX_GROWTH, objectLimits } from '../../spec/result-bounds.ts';
import type { ResultReader } from '../../upstreams/transport/flowing-result.ts';
import { TooManyValues, UpstreamFailure } from '../../upstreams/transport/upstream-response.ts';
import { expectedBytes, learned } from './check-result-bytes.ts';
import { checkResult } from './check-result.ts';
import type { Layouts } from './layout.ts';
import { LogFilterCheck } from './log-filter-check.ts';
import { ANY, mustBeParsed, ResultWalk, type ExpectedBytes } from './result-walk.ts';

const COMMA = 44;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;

const HASH_CHARS = 66;
/** Bytes of an element above which the values are counted before they are read. */
const LARGE_ELEMENT_BYTES = 65_536;

/** Position in the list: what may follow, beside white space. */
type Position = 'list' | 'first element' | 'element' | 'separator';

/** How the elements of a list are checked. */
export interface ElementCheck {
  readonly shape: ObjectShape;
  /** Fields of each element. */
  readonly expected: readonly ExpectedBytes[];
  /** Check of the elements, if they are logs of a filter. */
  readonly logs?: LogFilterCheck | undefined;
  /** The element, which may need changes, as it is passed on, with its hash if it is a transaction. @throws UpstreamFailure */
  readonly complete: (element: Buffer) => { readonly bytes: Buffer; readonly hash?: unknown };
}

/**
 * Checks a list of objects while it arrives, as `checkResult` and `checkResultBytes` check a whole one: each element when it
 * is complete. Elements without changes are not copied, except for those that begin in one chunk and end in another.
 */
export class FlowingList implements ResultReader {
  readonly #elements: ElementCheck;
  readonly #isEchoed: (bytes: Buffer) => boolean;
  readonly #layouts: Layouts;
  #position: Position = 'list';
  /** The start of an element that has not ended. */
  #begun: Buffer[] | undefined;
  #end = new ValueEnd();
  /** The last element as it was passed on. */
  last: Buffer | undefined;
  /** Hashes of the elements: a block takes those of its transactions. */
  readonly hashes: string[] = [];

  /** @param isEchoed whether bytes have a credential of the upstream */
  constructor(elements: ElementCheck, isEchoed: (bytes: Buffer) => boolean, layouts = learned) {
    this.#elements = elements;
    this.#isEchoed = isEchoed;
    this.#layouts = layouts;
  }

  /** Whether the list has logs that are not in order. */
  get isIrregular(): boolean {
    return this.#elements.logs?.isIrregular === true;
  }

  read(chunk: Buffer, passed: Buffer[]): number {
    if (this.#isEchoed(chunk)) throw malformed('the result has a credential');
    const start = this.#begun === undefined ? 0 : this.#endElement(this.#begun, chunk, passed);
    return start === -1 ? -1 : this.#readList(chunk, start, passed);
  }

  /** @returns the position after the element that has begun; -1: it has not ended */
  #endElement(begun: Buffer[], chunk: Buffer, passed: Buffer[]): number {
    const end = this.#end.find(chunk);
    if (end === -1) begun.push(chunk);
    else {
      const element = Buffer.concat([...begun, chunk.subarray(0, end)]);
      if (this.#isEchoed(element)) throw malformed('the result has a credential');
      passed.push(this.#check(element));
      this.#begun = undefined;
      this.#position = 'separator';
    }
    return end;
  }

  #readList(chunk: Buffer, start: number, passed: Buffer[]): number {
    const areAllPlain = isPlain(chunk);
    let reader = readerAt(chunk, start, areAllPlain);
    let passedTo = start;
    const passTo = (end: number, next = end): void => {
      if (end > passedTo) passed.push(chunk.subarray(passedTo, end));
      passedTo = next;
    };
    for (;;) {
      reader.skipSpace();
      const byte = chunk[reader.at];
      if (byte === undefined) {
        passTo(reader.at);
        return -1;
      }
      if (byte === CLOSE_BRACKET && (this.#position === 'separator' || this.#position === 'first element')) {
        passTo(reader.at + 1);
        return reader.at + 1;
      }
      if (this.#position === 'list' || this.#position === 'separator') {
        if (byte !== (this.#position === 'list' ? OPEN_BRACKET : COMMA)) throw malformed('the result is not a list');
        this.#position = this.#position === 'list' ? 'first element' : 'element';
        reader.at++;
        continue;
      }
      if (byte !== OPEN_BRACE) throw malformed('an element of the list is not an object');
      const from = reader.at;
      if (areAllPlain && this.#isUnchanged(reader)) {
        this.last = chunk.subarray(from, reader.at);
        this.#position = 'separator';
        continue;
      }
      const end = this.#findEnd(chunk, from);
      if (end === -1) {
        passTo(from);
        this.#begun = [chunk.subarray(from)];
        return -1;
      }
      const element = chunk.subarray(from, end);
      const checked = this.#check(element);
      if (checked !== element) {
        passTo(from, end);
        passed.push(checked);
      }
      this.#position = 'separator';
      reader = readerAt(chunk, end, areAllPlain);
    }
  }

  #findEnd(chunk: Buffer, from: number): number {
    this.#end = new ValueEnd();
    const end = this.#end.find(chunk.subarray(from));
    return end === -1 ? -1 : from + end;
  }

  /** Whether the reader is at an object that needs no change, of plain bytes. Then it is read. */
  #isUnchanged(reader: JsonReader): boolean {
    const { shape, expected, logs } = this.#elements;
    const layout = this.#layouts.ofShape(shape);
    const walk = new ResultWalk(reader, layout.view, expected, logs);
    try {
      walk.checkObject(layout, ANY);
      if (walk.found !== layout.view.whole) return false;
      const hash = walk.hashAt + 1;
      if (hash > 0) this.hashes.push(reader.bytes.toString('latin1', hash, hash + HASH_CHARS));
      return true;
    } catch (error) {
      if (error === mustBeParsed || error instanceof NotJson) return false;
      throw error;
    }
  }

  /** The element as it is passed on. @throws UpstreamFailure */
  #check(element: Buffer): Buffer {
    if (element.length > LARGE_ELEMENT_BYTES && exceeds(element, objectLimits(element.length)))
      throw new TooManyValues();
    if (isPlain(element) && this.#isUnchanged(readerAt(element, 0, true))) return (this.last = element);
    const { bytes, hash } = this.#elements.complete(element);
    if (bytes.length > MAX_GROWTH * element.length) throw malformed('an element of the list lacks most of its fields');
    if (typeof hash === 'string' && hash.length === HASH_CHARS) this.hashes.push(hash);
    return (this.last = bytes);
  }
}

/** Whether the results of a method are lists of objects that can be checked one by one. */
export function isObjectList({ shape, resultKinds }: MethodSpec): boolean {
  return shape?.demand.length === 0 && resultKinds?.length === 1 && resultKinds[0] === 'array';
}

/** @param method with `isObjectList` */
export function listElementsOf(method: MethodSpec, params: readonly unknown[]): ElementCheck {
  const logs = LogFilterCheck.of(method, params);
  return {
    ...{ shape: method.shape as ObjectShape, expected: expectedBytes(method, params), logs },
    complete(element) {
      const text = element.toString('utf8');
      const given = { kind: 'result', result: [parseJson(element, text)], text: `[${text}]` } as const;
      logs?.begin();
      const outcome = checkResult(method, params, given, logs);
      if (!outcome.final) throw new UpstreamFailure(outcome.failure, 'an element of the list is not usable');
      if (outcome.response === given) return { bytes: element };
      const { response } = outcome;
      // A list of which one element does not exist is null.
      if (response.kind !== 'result' || !Array.isArray(response.result)) throw malformed('an element does not exist');
      const list = response.text ?? JSON.stringify(response.result);
      return { bytes: Buffer.from(list.slice(1, -1)) };
    },
  };
}

/** @throws UpstreamFailure */
export function parseJson(bytes: Buffer, text: string): unknown {
  if (exceeds(bytes, objectLimits(bytes.length))) throw new TooManyValues();
  const parsed = parse(text);
  if (parsed === undefined) throw malformed('a part of the result is not JSON');
  return parsed;
}

function readerAt(bytes: Buffer, at: number, areAllPlain: boolean): JsonReader {
  const reader = new JsonReader(bytes, { isPlain: areAllPlain });
  reader.at = at;
  return reader;
}

export function malformed(message: string): UpstreamFailure {
  return new UpstreamFailure('malformed', message);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
