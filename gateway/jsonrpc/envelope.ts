import { BeyondLimits, JsonReader, NotJson, skipSpace } from '../json/json-reader.ts';
import type { MemberFault } from '../json/member-names.ts';
import { parseJson } from '../json/parse-json.ts';
import { exceeds } from '../json/nesting.ts';
import { decodeText } from '../json/plain-bytes.ts';
import { readCallTexts, type CallTexts } from './call-texts.ts';
import { BatchTooLarge, RpcError } from './errors.ts';

const OPEN_BRACKET = 91;

/**
 * Bounds of the nesting of a body, above any real request. A batch of calls with state overrides has depth 8. A batch of 1,000 calls with a
 * dozen parameters each has fewer values. One call has fewer values than a body (`callMaxValues`).
 */
const MAX_NESTING = { depth: 64, values: 200_000 };

/** One JSON-RPC request object. */
export interface RpcRequest {
  /** The id as JSON text, exactly as sent. Undefined: a notification, which gets no response. */
  readonly id: string | undefined;
  readonly method: string;
  /** Absent and null params become an empty array. */
  readonly params: readonly unknown[];
  /** The parameters as the caller wrote them, if they may have duplicated members. */
  readonly originalParamsText: string | undefined;
  /** The parameters as JSON.stringify writes them, if known. */
  readonly text: string | undefined;
}

/** An item of a body that is not a valid request. `id` is null if it is unknown, and undefined for a notification. */
export interface InvalidItem {
  readonly id: string | undefined;
  readonly rejection: RpcError;
}

export interface Envelope {
  readonly isBatch: boolean;
  /** A batch whose processing yields between calls, because a single call may be large. */
  readonly isLarge?: true;
  readonly items: readonly (RpcRequest | InvalidItem)[];
}

/**
 * Reads a request body.
 * @param maxValues of one call
 * @throws RpcError if the body is rejected as a whole: not JSON, nested too deep, an empty batch or a too large one
 */
export function readEnvelope(bytes: Buffer, maxItems: number, maxValues = MAX_NESTING.values): Envelope {
  return readText(bytes, decodeText(bytes, 0, bytes.length), maxItems, maxValues);
}

function readText(bytes: Buffer, text: string, maxItems: number, maxValues: number): Envelope {
  const body = parse(bytes, text, isBatch(bytes) ? MAX_NESTING.values : maxValues);
  if (!Array.isArray(body)) return { isBatch: false, items: [readCall(body, readCallTexts(bytes, text, body)[0])] };
  if (body.length === 0) throw new RpcError('empty-batch');
  const texts = readCallTexts(bytes, text, body);
  if (body.length > maxItems) throw new BatchTooLarge(texts[body.findIndex(hasId)]?.id, maxItems);
  return { isBatch: true, items: body.map((item, index) => readCall(item, texts[index])) };
}

/** Bodies above this size are read in steps: parsing one at once would block the event loop for more than 1 ms. */
export const LARGE_BODY_BYTES = 100_000;

interface Yielder {
  next(): Promise<void> | undefined;
}

/**
 * Reads a large request body, and yields between the steps.
 * @param timeSlicer its promise, if it returns one, is awaited between steps
 */
export function readLargeEnvelope(
  bytes: Buffer,
  maxItems: number,
  timeSlicer: Yielder,
  maxValues = MAX_NESTING.values,
): Promise<Envelope> {
  return isBatch(bytes)
    ? readBatch(bytes, maxItems, timeSlicer, maxValues)
    : readLarge(bytes, maxItems, timeSlicer, maxValues);
}

async function readLarge(bytes: Buffer, maxItems: number, timeSlicer: Yielder, maxValues: number): Promise<Envelope> {
  await timeSlicer.next();
  const text = decodeText(bytes, 0, bytes.length);
  await timeSlicer.next();
  return readText(bytes, text, maxItems, maxValues);
}

async function readBatch(bytes: Buffer, maxItems: number, timeSlicer: Yielder, maxValues: number): Promise<Envelope> {
  const items: (RpcRequest | InvalidItem)[] = [];
  let count = 0;
  /** The id of the first request that has one. */
  let firstId: string | undefined;
  for (const item of itemsOf(bytes)) {
    if (++count > maxItems && firstId !== undefined) break;
    let pause = timeSlicer.next();
    if (pause !== undefined) await pause;
    const text = decodeText(item, 0, item.length);
    // Only the id of a surplus item is read.
    const value = count > maxItems ? parseText(text) : parse(item, text, maxValues);
    const [texts] = readCallTexts(item, text, value);
    if (firstId === undefined && hasId(value)) firstId = texts?.id;
    if (count <= maxItems) items.push(readCall(value, texts));
    pause = timeSlicer.next();
    if (pause !== undefined) await pause;
  }
  if (count === 0) throw new RpcError('empty-batch');
  if (count > maxItems) throw new BatchTooLarge(firstId, maxItems);
  return { isBatch: true, isLarge: true, items };
}

function isBatch(bytes: Buffer): boolean {
  return bytes[skipSpace(bytes, 0)] === OPEN_BRACKET;
}

/**
 * Splits a batch into its items, so that a large one is not decoded and parsed at once.
 * @throws RpcError parse-error, nested-too-deep
 */
function* itemsOf(bytes: Buffer): Generator<Buffer, void> {
  const reader = new JsonReader(bytes, { maxDepth: MAX_NESTING.depth, maxValues: MAX_NESTING.values });
  try {
    reader.skipSpace();
    reader.enterArray();
    while (reader.nextElement()) {
      const start = reader.at;
      reader.skipValue();
      yield bytes.subarray(start, reader.at);
    }
    reader.skipSpace();
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    throw new RpcError(error instanceof BeyondLimits ? 'nested-too-deep' : 'parse-error');
  }
  if (reader.at < bytes.length) throw new RpcError('parse-error');
}

/** Whether an item of a batch is a request with an id. It creates no error objects: a batch may have 50,000 items. */
function hasId(item: unknown): boolean {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return false;
  const { jsonrpc, id, method } = item as Record<string, unknown>;
  return jsonrpc === '2.0' && typeof method === 'string' && id !== undefined && isId(id);
}

function parse(bytes: Buffer, text: string, maxValues: number): unknown {
  const values = Math.min(maxValues, MAX_NESTING.values);
  if (exceeds(bytes, { ...MAX_NESTING, values })) {
    if (exceeds(bytes, MAX_NESTING)) throw new RpcError('nested-too-deep');
    const message = `invalid request: the call has more than ${values} members and elements`;
    throw new RpcError('nested-too-deep', message);
  }
  return parseText(text);
}

function parseText(text: string): unknown {
  const value = parseJson(text);
  if (value === undefined) throw new RpcError('parse-error');
  return value;
}

function readCall(item: unknown, texts: CallTexts | undefined): RpcRequest | InvalidItem {
  if (typeof item !== 'object' || item === null || Array.isArray(item) || texts === undefined) return invalidItem();
  if (texts.fault !== undefined) return invalidItem(explainFault(texts.fault), texts);
  const { jsonrpc, id, method, params } = item as Record<string, unknown>;
  if (jsonrpc !== '2.0') return invalidItem('invalid request: expected jsonrpc to be "2.0"', texts);
  if (id !== undefined && !isId(id)) {
    return invalidItem('invalid request: expected id to be a string, a number or null');
  }
  if (typeof method !== 'string') return invalidItem('invalid request: expected method to be a string', texts);
  const positional = params ?? [];
  if (Array.isArray(positional)) {
    const given = positional === params ? texts.params : undefined;
    const [originalParamsText, text] = texts.isPlain ? [undefined, given] : [given, undefined];
    return { id: texts.id, method, params: positional, originalParamsText, text };
  }
  if (typeof params === 'object') {
    const rejection = new RpcError('invalid-params', 'invalid params: expected a positional array');
    return { id: texts.id, rejection };
  }
  return invalidItem('invalid request: expected params to be an array', texts);
}

function isId(id: unknown): boolean {
  return typeof id === 'string' || typeof id === 'number' || id === null;
}

function explainFault({ member, isVariant }: MemberFault): string {
  return `invalid request: expected ${member} ${isVariant ? 'in exactly this spelling' : 'only once'}`;
}

/** Makes an invalid item, with the id of the request if that can be read: a client cannot match a response without it. */
function invalidItem(message?: string, texts?: CallTexts): InvalidItem {
  return { id: readableId(texts), rejection: new RpcError('invalid-request', message) };
}

function readableId({ id, fault }: Partial<CallTexts> = {}): string {
  return id !== undefined && fault?.member !== 'id' && isId(JSON.parse(id)) ? id : 'null';
}
