import { JsonReader, NotJson } from '../../json/json-reader.ts';
import { exceeds } from '../../json/nesting.ts';
import { isPlain } from '../../json/plain-bytes.ts';
import { ValueEnd } from '../../json/value-end.ts';
import type { MethodSpec, ObjectShape } from '../../spec/method-spec.ts';
import { MAX_GROWTH, objectLimits } from '../../spec/result-bounds.ts';
import type { Outcome } from '../../upstreams/outcome.ts';
import type { ResultReader } from '../../upstreams/transport/flowing-result.ts';
import { parseResult, parseWithin } from '../../upstreams/transport/read-response.ts';
import {
  malformed,
  TooManyValues,
  UpstreamFailure,
  type LargeResponse,
  type ResultResponse,
} from '../../upstreams/transport/upstream-response.ts';
import { checkObject, expectedBytes } from './check-result.ts';
import { completeExactly } from './complete-object.ts';
import { learned, type Layouts } from './layout.ts';
import { LogFilterCheck } from './log-filter-check.ts';
import type { ObjectStatus } from './object-rules.ts';
import { viewOf } from './object-view.ts';
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

/** An element that cannot be passed on, although it is JSON. */
export class UnusableElement extends UpstreamFailure {
  readonly status: ObjectStatus;

  constructor(status: ObjectStatus) {
    super(status === 'unusable' ? 'node-state' : 'malformed', 'an element of the list is not usable');
    this.status = status;
  }
}

/** How the elements of a list are checked. */
export interface ElementCheck {
  readonly shape: ObjectShape;
  /** Fields of each element. */
  readonly expected: readonly ExpectedBytes[];
  /** Check of the elements, if they are logs of a filter. */
  readonly logs?: LogFilterCheck | undefined;
  /** Checks a parsed element, and completes it in place. @throws roundedQuantity */
  readonly complete: (element: Record<string, unknown>) => ObjectStatus;
}

/**
 * Checks a list of objects part by part, also while it arrives: each element when it is complete. Elements without changes are
 * not copied, except for those that begin in one part and end in another.
 */
export class FlowingList implements ResultReader {
  readonly #elements: ElementCheck;
  readonly #layouts: Layouts;
  #position: Position = 'list';
  /** The start of an element that has not ended. */
  #begun: Buffer[] | undefined;
  #end = new ValueEnd();
  #isChanged = false;
  /** Whether the last element had to be completed: the next one probably has the same form, and is parsed at once. */
  #wasCompleted = false;
  /** The bytes of the last element as it was passed on, and its place in them. */
  #last: { readonly bytes: Buffer; readonly from: number; readonly end: number } | undefined;
  /** Hashes of the elements: a block takes those of its transactions. */
  readonly hashes: string[] = [];

  constructor(elements: ElementCheck, layouts = learned) {
    this.#elements = elements;
    this.#layouts = layouts;
  }

  /** The last element as it was passed on. */
  get last(): Buffer | undefined {
    return this.#last?.bytes.subarray(this.#last.from, this.#last.end);
  }

  /** Whether the list has logs that are not in order. */
  get isIrregular(): boolean {
    return this.#elements.logs?.isIrregular === true;
  }

  /** The outcome of a whole list. @param passed all bytes that were passed on */
  outcomeOf(response: LargeResponse, passed: readonly Buffer[]): Outcome {
    // The block of a list is searched for in its first part, and in its last one.
    const outcome: Outcome = { final: true, response: this.#isChanged ? listOf(Buffer.concat(passed)) : response };
    return this.#elements.logs?.settle(outcome) ?? outcome;
  }

  read(chunk: Buffer, passed: Buffer[]): number {
    const start = this.#begun === undefined ? 0 : this.#endElement(this.#begun, chunk, passed);
    return start === -1 ? -1 : this.#readList(chunk, start, passed);
  }

  /** @returns the position after the element that has begun; -1: it has not ended */
  #endElement(begun: Buffer[], chunk: Buffer, passed: Buffer[]): number {
    const end = this.#end.find(chunk);
    if (end === -1) begun.push(chunk);
    else {
      passed.push(this.#check(Buffer.concat([...begun, chunk.subarray(0, end)])));
      this.#begun = undefined;
      this.#position = 'separator';
    }
    return end;
  }

  #readList(chunk: Buffer, start: number, passed: Buffer[]): number {
    const areAllPlain = isPlain(chunk);
    let walk = this.#walkAt(chunk, start, areAllPlain);
    let passedTo = start;
    const passTo = (end: number, next = end): void => {
      if (end > passedTo) passed.push(chunk.subarray(passedTo, end));
      passedTo = next;
    };
    for (;;) {
      const { reader } = walk;
      reader.skipSpace();
      const from = reader.at;
      const byte = chunk[from];
      if (byte === undefined) {
        passTo(from);
        return -1;
      }
      if (byte === CLOSE_BRACKET && (this.#position === 'separator' || this.#position === 'first element')) {
        passTo(from + 1);
        return from + 1;
      }
      if (this.#position === 'list' || this.#position === 'separator') {
        if (byte !== (this.#position === 'list' ? OPEN_BRACKET : COMMA)) throw malformed('the result is not a list');
        this.#position = this.#position === 'list' ? 'first element' : 'element';
        reader.at++;
        continue;
      }
      if (byte !== OPEN_BRACE) throw new UnusableElement('malformed');
      if (!areAllPlain || !this.#isUnchanged(walk)) {
        this.#end = new ValueEnd();
        const length = this.#end.find(chunk.subarray(from));
        if (length === -1) {
          passTo(from);
          this.#begun = [chunk.subarray(from)];
          return -1;
        }
        const end = from + length;
        const element = chunk.subarray(from, end);
        const checked = areAllPlain ? this.#complete(element) : this.#check(element);
        if (checked !== element) {
          passTo(from, end);
          passed.push(checked);
        }
        walk = this.#walkAt(chunk, end, areAllPlain);
      }
      this.#position = 'separator';
    }
  }

  #walkAt(bytes: Buffer, at: number, areAllPlain: boolean): ResultWalk {
    const reader = new JsonReader(bytes, { isPlain: areAllPlain });
    reader.at = at;
    const { shape, expected, logs } = this.#elements;
    return new ResultWalk(reader, viewOf(shape), expected, logs);
  }

  /** Whether the walk is at an object that needs no change, of plain bytes. Then it is read. */
  #isUnchanged(walk: ResultWalk): boolean {
    const { reader } = walk;
    const { at } = reader;
    if (this.#wasCompleted) return false;
    const layout = this.#layouts.of(this.#elements.shape);
    try {
      walk.checkObject(layout, ANY);
      if (walk.found !== layout.view.whole) return false;
      const { hash } = walk;
      if (hash !== undefined) this.hashes.push(hash);
      this.#passOn(reader.bytes, at, reader.at);
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
    const isUnchanged = isPlain(element) && this.#isUnchanged(this.#walkAt(element, 0, true));
    return isUnchanged ? element : this.#complete(element);
  }

  /** @param from start of the element in the bytes */
  #passOn(bytes: Buffer, from = 0, end = bytes.length): Buffer {
    this.#last = { bytes, from, end };
    return bytes;
  }

  /** The element, parsed and completed, as it is passed on. @throws UpstreamFailure */
  #complete(element: Buffer): Buffer {
    const { shape, logs, complete } = this.#elements;
    const given = element.toString('utf8');
    const parsed = parseObject(element, given);
    const { status, value, text } = completeExactly(parsed, given, shape, complete as (value: unknown) => ObjectStatus);
    if (status !== 'fits' && status !== 'completed') throw new UnusableElement(status);
    const object = value as Record<string, unknown>;
    if (logs?.fits(object) === false) throw new UnusableElement('malformed');
    const { hash } = object;
    if (typeof hash === 'string' && hash.length === HASH_CHARS) this.hashes.push(hash);
    this.#wasCompleted = status === 'completed';
    if (status === 'fits') return this.#passOn(element);
    const bytes = Buffer.from(text ?? JSON.stringify(object));
    // It lacks most of its fields.
    if (bytes.length > MAX_GROWTH * element.length) throw new TooManyValues();
    this.#isChanged = true;
    return this.#passOn(bytes);
  }
}

/** Whether the results of a method are lists of objects that can be checked one by one. */
export function isObjectList({ shape, resultKinds }: MethodSpec): boolean {
  return shape?.demand.length === 0 && resultKinds?.length === 1 && resultKinds[0] === 'array';
}

/** @param method with `isObjectList` */
export function listElementsOf(method: MethodSpec, params: readonly unknown[]): ElementCheck {
  return {
    shape: method.shape as ObjectShape,
    expected: expectedBytes(method, params),
    logs: LogFilterCheck.of(method, params),
    complete: (element) => checkObject(method, params, element),
  };
}

/** @param text of the bytes, which begin with a brace @throws UpstreamFailure */
export function parseObject(bytes: Buffer, text: string): Record<string, unknown> {
  const object = parseWithin(objectLimits(bytes.length), bytes, text);
  if (object === undefined) throw malformed('a part of the result is not JSON');
  return object as Record<string, unknown>;
}

/** @param json of a list that was read */
function listOf(json: Buffer): LargeResponse {
  return { kind: 'large', parts: [json], parse: () => parseResult(json) as ResultResponse };
}
