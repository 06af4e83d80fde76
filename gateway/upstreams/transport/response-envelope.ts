import { isObject } from '../../collections/is-object.ts';
import type { OwnedSteps } from '../../event-loop/owned-steps.ts';
import { BeyondLimits, JsonReader, NotJson } from '../../json/json-reader.ts';
import { envelopeLimits, MAX_ERROR_BYTES, MAX_MEMBERS } from '../../spec/result-bounds.ts';
import { TooManyValues, UpstreamFailure } from './upstream-response.ts';

/** Size from which on checking the bytes of a response is cheaper than parsing it (bench/steps.ts). */
export const LARGE_RESPONSE_BYTES = 8_192;
/** Size up to which a response is read or checked in one step, which takes up to 10 ms. */
export const IN_STEPS_OVER_BYTES = 262_144;
/** Bytes of one step: these, and the rest of a text, a number or white space. */
const STEP_BYTES = 65_536;

/*
 * Nearly every node writes the version first and the id first or last. In valid JSON, what matches is of the outermost
 * object, because it is at the start or at the end of the bytes. Some nodes write the id as a string.
 */
const VERSION = String.raw`"jsonrpc"\s*:\s*"2\.0"\s*`;
const ID = String.raw`"id"\s*:\s*"?(\d{1,15})"?\s*`;
const head = new RegExp(
  String.raw`^\s*\{\s*(?:${VERSION},\s*)?(?:${ID}(?:,|(?=\}))\s*)?(?:${VERSION},\s*)?("result"\s*:\s*)?`,
);
const tail = new RegExp(String.raw`(?:,\s*${VERSION})?(?:,\s*${ID})?\}\s*$`);
/** The longest envelope that is found without reading the whole response. */
const ENVELOPE_BYTES = 100;
const MAX_ID_BYTES = 32;

/** Id in a message of an upstream. Undefined: an object without an id, as in errors about malformed requests. */
export type ResponseId = number | 'notification' | 'not-json' | undefined;

/**
 * The result in a response, as bytes that are not checked: the caller must do that.
 * @returns undefined if the envelope is unusual, or has the id of another call
 */
export function findResult(body: Buffer, id: number): Buffer | undefined {
  const start = headOf(body);
  const end = tailOf(body);
  if (start?.[2] === undefined || end === null || (start[1] ?? end[1]) !== String(id)) return undefined;
  return body.subarray(start[0].length, body.length - end[0].length);
}

/**
 * The start of a response with a result that flows.
 * @returns the position of the result, and whether the id was before it; undefined: the start is unusual, or has the id of
 * another call
 */
export function findResultStart(
  body: Buffer,
  id: number,
): { readonly at: number; readonly isIdRead: boolean } | undefined {
  const start = headOf(body);
  if (start?.[2] === undefined || (start[1] !== undefined && start[1] !== String(id))) return undefined;
  return { at: start[0].length, isIdRead: start[1] !== undefined };
}

/** `error: null`, `false`, `""` and `{}` beside a result are not errors. */
export function isMeaningful(error: unknown): boolean {
  return (typeof error === 'string' && error !== '') || (isObject(error) && Object.keys(error).length > 0);
}

/**
 * The id of the call that a response is for. The gateway's ids are numbers.
 * @returns 'unread': the ends of a large response do not show it, and `responseIdInSteps` must find it
 */
export function responseId(body: Buffer): ResponseId | 'unread' {
  const id = headOf(body)?.[1] ?? tailOf(body)?.[1];
  if (id !== undefined) return Number(id);
  if (body.length > IN_STEPS_OVER_BYTES) return 'unread';
  try {
    return idOf(membersOf(body));
  } catch (error) {
    if (error instanceof UpstreamFailure) return undefined;
    throw error;
  }
}

/** The id in a response of any size, with pauses for the event loop. It is unknown in one with too many values. */
export async function responseIdInSteps(body: Buffer, steps: OwnedSteps): Promise<ResponseId> {
  try {
    await steps.next();
    return idOf(await membersInSteps(body, steps));
  } catch (error) {
    if (error instanceof UpstreamFailure) return undefined;
    throw error;
  } finally {
    steps.charge();
  }
}

/** The members of a response that Gatehouse reads. Others are skipped. */
const names = ['id', 'result', 'error', 'code', 'message', 'data', 'method'].map((name) => Buffer.from(name));
type Members = ReadonlyMap<string, Buffer>;

/**
 * The members of a response, as JSON, without parsing it. Some nodes return an array of one for a single call (Candle, recorded by
 * others). Names with escape sequences are not found.
 * @returns undefined: it is no JSON, or no such object
 * @throws TooManyValues
 */
export function membersOf(body: Buffer): Members | undefined {
  const reading = readMembers(body);
  for (;;) {
    const { done, value } = reading.next();
    if (done === true) return value;
  }
}

/** The same of a response of any size, with pauses for the event loop. @throws TooManyValues (rejects with it) */
export async function membersInSteps(body: Buffer, steps: OwnedSteps): Promise<Members | undefined> {
  const reading = readMembers(body);
  for (;;) {
    const { done, value } = reading.next();
    if (done === true) return value;
    await steps.next();
  }
}

/**
 * Reads the members, and yields after each step. There is one result at most, and all other members together are as large as
 * an error at most.
 */
function* readMembers(body: Buffer): Generator<undefined, Members | undefined> {
  const members = new Map<string, Buffer>();
  const { depth, values } = envelopeLimits(body.length);
  const reader = new JsonReader(body, { maxDepth: depth, maxValues: values });
  try {
    reader.skipSpace();
    const isInArray = reader.isAtArray;
    if (isInArray) {
      reader.enterArray();
      if (!reader.nextElement()) return undefined;
    }
    if (!reader.isAtObject) return undefined;
    reader.enterObject();
    let otherBytes = 0;
    let stepEnd = STEP_BYTES;
    for (let count = 0; reader.nextMember();) {
      const name = names.find((one) => reader.isName(one))?.toString();
      if (++count > MAX_MEMBERS) throw new TooManyValues();
      if (name === 'result' && members.has(name))
        throw new UpstreamFailure('malformed', 'the response has two results');
      const start = reader.at;
      for (let hasEnded = false; !hasEnded;) {
        const { at } = reader;
        if (at > stepEnd) {
          yield;
          stepEnd = at + STEP_BYTES;
        }
        hasEnded = reader.skipTowards(stepEnd);
        if (name !== 'result') otherBytes += reader.at - at;
        if (otherBytes > MAX_ERROR_BYTES) throw new TooManyValues();
      }
      if (name !== undefined) members.set(name, body.subarray(start, reader.at));
    }
    if (isInArray && reader.nextElement()) return undefined;
    reader.skipSpace();
    return reader.at === body.length ? members : undefined;
  } catch (error) {
    if (error instanceof BeyondLimits) throw new TooManyValues();
    if (error instanceof NotJson) return undefined;
    throw error;
  }
}

function headOf(body: Buffer): RegExpExecArray | null {
  return head.exec(body.toString('latin1', 0, ENVELOPE_BYTES));
}

function tailOf(body: Buffer): RegExpExecArray | null {
  return tail.exec(body.toString('latin1', Math.max(0, body.length - ENVELOPE_BYTES)));
}

function idOf(members: Members | undefined): ResponseId {
  if (members === undefined) return 'not-json';
  if (members.has('method')) return 'notification';
  const id = members.get('id');
  const value = id === undefined || id.length > MAX_ID_BYTES ? null : (JSON.parse(id.toString()) as unknown);
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}
