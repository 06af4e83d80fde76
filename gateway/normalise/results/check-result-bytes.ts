import { JsonReader, NotJson } from '../../json/json-reader.ts';
import { isPlain } from '../../json/plain-bytes.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import { expectedIdentities, isPendingBlock } from './check-result.ts';
import { Layouts, type Layout } from './layout.ts';
import type { LogFilterCheck } from './log-filter-check.ts';
import type { ObjectView } from './object-view.ts';
import { ANY, mustBeParsed, ResultWalk, type ExpectedBytes } from './result-walk.ts';

/**
 * Checks a large result without parsing it. This works if the result needs no changes, except null fields that are
 * added to the end of a single object. Most nodes need only that: their blocks since the merge have no totalDifficulty.
 * @param bytes the result, as JSON
 * @param logs if they are logs of a filter
 * @param layouts learned from results before
 * @returns the result for the caller, in parts; undefined if it must be parsed, to be completed or classified as failed
 */
export function checkResultBytes(
  method: MethodSpec,
  params: readonly unknown[],
  bytes: Buffer,
  logs?: LogFilterCheck,
  layouts = learned,
): [Buffer, ...Buffer[]] | undefined {
  try {
    return isPlain(bytes) ? checkBytes(method, params, bytes, logs, layouts.of(method)) : undefined;
  } catch (error) {
    if (error === mustBeParsed || error instanceof NotJson) return undefined;
    throw error;
  }
}

/** Layouts of the results of all upstreams of this process. */
export const learned = new Layouts();

const QUOTE = 34;
const OPEN_BRACKET = 91;
const OPEN_BRACE = 123;

function checkBytes(
  method: MethodSpec,
  params: readonly unknown[],
  bytes: Buffer,
  logs: LogFilterCheck | undefined,
  layout: Layout,
): [Buffer, ...Buffer[]] | undefined {
  const { resultKinds, details, shape } = method;
  const kind = bytes[0] === OPEN_BRACE ? 'object' : bytes[0] === OPEN_BRACKET ? 'array' : undefined;
  const isAny = resultKinds === undefined;
  if (!isAny && (kind === undefined || !resultKinds.includes(kind))) return undefined;
  const reader = new JsonReader(bytes, { isPlain: true });
  if (shape === undefined) {
    new ResultWalk(reader, layout.view, none).checkValue(layout);
    return reader.at === bytes.length ? [bytes] : undefined;
  }
  // Pending blocks stay unchanged, and shapes with demanded fields are never large.
  if (shape.demand.length > 0 || isPendingBlock(shape, params)) return undefined;
  const expected = expectedBytes(method, params);
  const walk = new ResultWalk(reader, layout.view, expected, logs);
  if (kind === 'array') {
    walk.checkArray(layout, OPEN_BRACE);
    return reader.at === bytes.length ? [bytes] : undefined;
  }
  const element = details === undefined ? ANY : params[details.param] === true ? OPEN_BRACE : QUOTE;
  walk.checkObject(layout, element);
  if (reader.at !== bytes.length) return undefined;
  return addMissingFields(layout.view, walk.found, bytes, expected);
}

export function expectedBytes(method: MethodSpec, params: readonly unknown[]): readonly ExpectedBytes[] {
  return expectedIdentities(method, params).map(({ field, value }) => ({
    name: field,
    value: Buffer.from(`"${value}"`),
  }));
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

const none: readonly ExpectedBytes[] = [];
