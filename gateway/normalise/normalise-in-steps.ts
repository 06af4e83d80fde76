import { isUtf8 } from 'node:buffer';
import { isBytes } from '../collections/is-bytes.ts';
import { OwnedSteps } from '../event-loop/owned-steps.ts';
import { JsonReader, NotJson, skipSpace } from '../json/json-reader.ts';
import { exceeds } from '../json/nesting.ts';
import { parseInSteps } from '../json/parse-in-steps.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { BYTES, MAX_DEPTH, MAX_GROWTH, MAX_MEMBERS, objectLimits } from '../spec/result-bounds.ts';
import type { Outcome } from '../upstreams/outcome.ts';
import { parseResult, tooManyValues } from '../upstreams/transport/read-response.ts';
import {
  jsonResponse,
  UpstreamFailure,
  type LargeResponse,
  type ResultResponse,
} from '../upstreams/transport/upstream-response.ts';
import { normalise } from './normalise.ts';
import { checkResultBytes } from './results/check-result-bytes.ts';
import { checkResult } from './results/check-result.ts';

/** Smaller results are checked in one step, which takes up to 10 ms. */
export const IN_STEPS_OVER_BYTES = 262_144;
/** Bytes of one step: these, and the rest of an element of a list. */
const STEP_BYTES = 65_536;

const QUOTE = 34;
const OPEN_BRACKET = 91;
const OPEN_BRACE = 123;
/** After `"0x`. */
const HEX_START = 3;
const [START, COMMA, END] = [Buffer.from('['), Buffer.from(','), Buffer.from(']')];
/** Whole objects are parsed one after the other, whoever gets them. */
const OBJECTS = 'objects';

/**
 * As `normalise`, for a result of many bytes, with pauses for the event loop. A list is checked part by part, and what passes
 * unchanged is not parsed. Results of one owner are checked one after the other, because each takes several times its bytes.
 * @param owner whose time of the event loop it takes
 * @throws UpstreamFailure (rejects with it) if it is no result of the method
 */
export function normaliseInSteps(
  method: MethodSpec,
  params: readonly unknown[],
  response: LargeResponse,
  owner: string,
): Promise<Outcome> {
  return afterOthers(owner, async () => {
    const steps = new OwnedSteps(owner);
    try {
      await steps.next();
      return await check(method, params, response, steps);
    } catch (error) {
      throw error instanceof NotJson ? tooManyValues() : error;
    } finally {
      steps.charge();
    }
  });
}

const latest = new Map<string, Promise<unknown>>();

/** Runs work after the earlier work of the same name. */
async function afterOthers<T>(name: string, work: () => Promise<T>): Promise<T> {
  const result = (latest.get(name) ?? Promise.resolve()).then(work);
  const ended = result.catch(() => undefined);
  latest.set(name, ended);
  try {
    return await result;
  } finally {
    if (latest.get(name) === ended) latest.delete(name);
  }
}

async function check(
  method: MethodSpec,
  params: readonly unknown[],
  given: LargeResponse,
  steps: OwnedSteps,
): Promise<Outcome> {
  const first = given.parts[0].subarray(0, STEP_BYTES);
  // Most of what is hostile needs no look at the rest.
  if (method.shape !== undefined && exceeds(first, objectLimits(first.length))) throw tooManyValues();
  // Clients over WebSocket close the connection at other bytes.
  const response = isUtf8(given.parts[0]) ? given : { ...given, parts: [Buffer.from(String(given.parts[0]))] as const };
  await steps.next();
  const [bytes] = response.parts;
  const isObject = bytes[0] === OPEN_BRACE;
  const isContainer = isObject || bytes[0] === OPEN_BRACKET;
  if (bytes[0] === QUOTE && method.resultKinds !== undefined) return checkText(method, params, response, steps);
  // Parsing a number creates one value.
  if (!isContainer && method.resultKinds !== undefined) return normalise(method, params, response);
  const kind = isObject ? 'object' : 'array';
  if (method.resultKinds?.includes(kind) === false)
    throw new UpstreamFailure('malformed', `the result is an ${kind}, which no result of the method is`);
  if (!isObject && method.shape !== undefined) return checkList(method, params, response, steps);
  const limits = method.shape && objectLimits(bytes.length);
  const reader = new JsonReader(bytes, { maxDepth: MAX_DEPTH, ...(limits && { maxValues: limits.values }) });
  if (limits === undefined) await skip(reader, steps);
  else {
    reader.enterObject();
    for (let members = 0; reader.nextMember();) {
      if (++members > MAX_MEMBERS) throw tooManyValues();
      await skip(reader, steps);
    }
  }
  // The envelope has other members.
  if (reader.at !== bytes.length) return normalise(method, params, response.parse());
  if (limits === undefined) return { final: true, response };
  const parts = checkResultBytes(method, params, bytes);
  if (parts !== undefined) return { final: true, response: { ...response, parts } };
  return afterOthers(OBJECTS, async () => {
    const result = await parseInSteps(bytes, steps, limits);
    return checkResult(method, params, { kind: 'result', result, text: bytes.toString() });
  });
}

/** Checks a text, piece by piece. Of methods with a schema, only bytes are so long. */
async function checkText(
  method: MethodSpec,
  params: readonly unknown[],
  response: LargeResponse,
  steps: OwnedSteps,
): Promise<Outcome> {
  const [bytes] = response.parts;
  const end = bytes.indexOf(QUOTE, 1);
  if (end !== -1 && skipSpace(bytes, end + 1) !== bytes.length) {
    // The envelope has other members.
    return normalise(method, params, response.parse());
  }
  let fits = method.resultPattern === BYTES && bytes.toString('latin1', 1, HEX_START) === '0x' && end !== -1;
  for (let at = HEX_START; fits && at < end; at += STEP_BYTES) {
    fits = isBytes(`0x${bytes.toString('latin1', at, Math.min(at + STEP_BYTES, end))}`);
    await steps.next();
  }
  if (fits) return { final: true, response };
  return { final: false, failure: 'malformed', response: undefined, detail: 'the result is a long text, but no bytes' };
}

/** Checks a list of objects, some elements at a time. @throws NotJson */
async function checkList(
  method: MethodSpec,
  params: readonly unknown[],
  response: LargeResponse,
  steps: OwnedSteps,
): Promise<Outcome> {
  const [bytes] = response.parts;
  const reader = new JsonReader(bytes, { maxDepth: MAX_DEPTH });
  const parts: Buffer[] = [];
  let isChanged = false;
  reader.enterArray();
  for (let hasNext = reader.nextElement(); hasNext;) {
    const [start, values] = [reader.at, reader.values];
    let end: number;
    do {
      if (!reader.skipTowards(reader.at + STEP_BYTES)) await skip(reader, steps);
      end = reader.at;
      hasNext = reader.nextElement();
    } while (hasNext && end - start < STEP_BYTES);
    if (reader.values - values > objectLimits(end - start).values) throw tooManyValues();
    const part = bytes.subarray(start, end);
    const outcome = normalise(method, params, jsonResponse(Buffer.concat([START, part, END])));
    if (!outcome.final || outcome.response.kind === 'error') return outcome;
    const { response: checked } = outcome;
    if (checked.kind === 'large' || checked.text !== undefined) parts.push(COMMA, part);
    else {
      // A list of which one element does not exist is null.
      if (!Array.isArray(checked.result)) return outcome;
      const completed = Buffer.from(JSON.stringify(checked.result).slice(1, -1));
      if (completed.length > MAX_GROWTH * part.length) throw tooManyValues();
      parts.push(COMMA, completed);
      isChanged = true;
    }
    await steps.next();
  }
  if (reader.at !== bytes.length) return normalise(method, params, response.parse());
  if (!isChanged) return { final: true, response };
  // The block of a list is searched for in its first part, and in its last one.
  const whole = Buffer.concat([START, ...parts.slice(1), END]);
  const parse = (): ResultResponse => parseResult(whole) as ResultResponse;
  return { final: true, response: { kind: 'large', parts: [whole], parse } };
}

/** Moves to the end of a value. @throws NotJson */
async function skip(reader: JsonReader, steps: OwnedSteps): Promise<void> {
  while (!reader.skipTowards(reader.at + STEP_BYTES)) await steps.next();
}
