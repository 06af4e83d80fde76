import type { OwnedSteps } from '../event-loop/owned-steps.ts';
import { BeyondLimits, JsonReader } from './json-reader.ts';
import type { NestingLimits } from './nesting.ts';

/** Parsing these takes up to 1 ms. */
const STEP_BYTES = 100_000;

/**
 * Parses a large result: element by element of its lists, with pauses for the event loop between them.
 * @param maxPartValues of what is parsed at once
 * @throws NotJson, also beyond the limits; SyntaxError (rejects with it)
 */
export async function parseInSteps(
  bytes: Buffer,
  steps: OwnedSteps,
  limits: NestingLimits,
  maxPartValues = Infinity,
): Promise<unknown> {
  if (bytes.length <= STEP_BYTES) return JSON.parse(bytes.toString());
  const { depth: maxDepth, values, nameBytes: maxNameBytes } = limits;
  const reader = new JsonReader(bytes, { maxDepth, maxValues: values, maxNameBytes });
  reader.skipSpace();
  if (reader.isAtArray) return parseList(reader, steps, maxPartValues);
  if (!reader.isAtObject) return JSON.parse(bytes.toString());
  const members: [string, unknown][] = [];
  reader.enterObject();
  while (reader.nextMember()) {
    const name = JSON.parse(bytes.toString('utf8', reader.nameStart - 1, reader.nameEnd + 1)) as string;
    members.push([name, await parseMember(reader, steps, maxPartValues)]);
  }
  return Object.fromEntries(members);
}

function parseMember(reader: JsonReader, steps: OwnedSteps, maxPartValues: number): unknown {
  return reader.isAtArray ? parseList(reader, steps, maxPartValues) : parseNext(reader, maxPartValues);
}

async function parseList(reader: JsonReader, steps: OwnedSteps, maxPartValues: number): Promise<unknown[]> {
  const elements: unknown[] = [];
  reader.enterArray();
  while (reader.nextElement()) {
    elements.push(parseNext(reader, maxPartValues));
    const pause = steps.afterSlice();
    if (pause !== undefined) await pause;
  }
  return elements;
}

function parseNext(reader: JsonReader, maxValues: number): unknown {
  const { at: start, values } = reader;
  reader.skipValue();
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- see NotJson
  if (reader.values - values > maxValues) throw new BeyondLimits(start);
  return JSON.parse(reader.bytes.toString('utf8', start, reader.at));
}
