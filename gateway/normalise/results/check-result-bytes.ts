import { isUtf8 } from 'node:buffer';
import { JsonReader, NotJson } from '../../json/json-reader.ts';
import { isPlain } from '../../json/plain-bytes.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import type { Outcome } from '../../upstreams/outcome.ts';
import { UpstreamFailure, type LargeResponse } from '../../upstreams/transport/upstream-response.ts';
import { expectedBytes, isPendingBlock } from './check-result.ts';
import { FlowingList, isObjectList, listElementsOf } from './flowing-list.ts';
import { learned, type Layout, type Layouts } from './layout.ts';
import type { ObjectView } from './object-view.ts';
import { ANY, mustBeParsed, ResultWalk, type ExpectedBytes } from './result-walk.ts';

/**
 * Checks a large result without parsing it. This works if the result needs no changes, except null fields that are
 * added to the end of a single object. Most nodes need only that: their blocks since the merge have no totalDifficulty. Of a
 * list, only the elements that need changes are parsed.
 * @param layouts learned from results before
 * @returns undefined: it must be parsed as a whole, to be completed or classified as failed
 */
export function checkResultBytes(
  method: MethodSpec,
  params: readonly unknown[],
  response: LargeResponse,
  layouts = learned,
): Outcome | undefined {
  try {
    return isObjectList(method)
      ? checkList(method, params, response, layouts)
      : checkObject(method, params, response, layouts);
  } catch (error) {
    if (error === mustBeParsed || error instanceof NotJson || error instanceof UpstreamFailure) return undefined;
    throw error;
  }
}

const QUOTE = 34;
const OPEN_BRACKET = 91;
const OPEN_BRACE = 123;

function checkList(
  method: MethodSpec,
  params: readonly unknown[],
  response: LargeResponse,
  layouts: Layouts,
): Outcome | undefined {
  const [bytes] = response.parts;
  if (!isUtf8(bytes)) return undefined;
  const list = new FlowingList(listElementsOf(method, params), layouts);
  const passed: Buffer[] = [];
  return list.read(bytes, passed) === bytes.length ? list.outcomeOf(response, passed) : undefined;
}

function checkObject(
  method: MethodSpec,
  params: readonly unknown[],
  response: LargeResponse,
  layouts: Layouts,
): Outcome | undefined {
  const [bytes] = response.parts;
  const parts = isPlain(bytes) ? checkBytes(method, params, bytes, layouts.of(method.shape ?? method)) : undefined;
  return parts && { final: true, response: { ...response, parts } };
}

function checkBytes(
  method: MethodSpec,
  params: readonly unknown[],
  bytes: Buffer,
  layout: Layout,
): [Buffer, ...Buffer[]] | undefined {
  const { resultKinds, details, shape } = method;
  const kind = bytes[0] === OPEN_BRACE ? 'object' : bytes[0] === OPEN_BRACKET ? 'array' : undefined;
  const isAny = resultKinds === undefined;
  if (!isAny && (kind === undefined || !resultKinds.includes(kind))) return undefined;
  const reader = new JsonReader(bytes, { isPlain: true });
  if (shape === undefined) {
    new ResultWalk(reader, layout.view, []).checkValue(layout);
    return reader.at === bytes.length ? [bytes] : undefined;
  }
  // Pending blocks stay unchanged, and shapes with demanded fields are never large.
  if (shape.demand.length > 0 || isPendingBlock(shape, params)) return undefined;
  const expected = expectedBytes(method, params);
  const walk = new ResultWalk(reader, layout.view, expected);
  const element = details === undefined ? ANY : params[details.param] === true ? OPEN_BRACE : QUOTE;
  walk.checkObject(layout, element);
  return reader.at === bytes.length ? addMissingFields(layout.view, walk.found, bytes, expected) : undefined;
}

/** Adds the fields that the walk did not find, as null. */
function addMissingFields(
  { fill, required }: ObjectView,
  found: number,
  bytes: Buffer,
  expected: readonly ExpectedBytes[],
): [Buffer, ...Buffer[]] {
  const missing = fill.filter((_, index) => (found & (1 << index)) === 0);
  if ((found & required) !== required || missing.length === fill.length) throw mustBeParsed;
  if (missing.some((name) => expected.some((one) => one.name === name))) throw mustBeParsed;
  if (missing.length === 0) return [bytes];
  const nulls = missing.map((name) => `,"${name}":null`).join('');
  return [bytes.subarray(0, -1), Buffer.from(`${nulls}}`)];
}
