import type { OwnedSteps } from '../event-loop/owned-steps.ts';
import { JsonReader } from './json-reader.ts';
import type { NestingLimits } from './nesting.ts';

/** Parsing these takes up to 1 ms. */
const STEP_BYTES = 100_000;

/**
 * Parses a large result: element by element of its lists, with pauses for the event loop between them.
 * @throws NotJson, also beyond the limits; SyntaxError (rejects with it)
 */
export async function parseInSteps(bytes: Buffer, steps: OwnedSteps, limits: NestingLimits): Promise<unknown> {
  if (bytes.length <= STEP_BYTES) return JSON.parse(bytes.toString());
  const reader = new JsonReader(bytes, { maxDepth: limits.depth, maxValues: limits.values });
  reader.skipSpace();
  if (reader.isAtArray) return parseList(reader, steps);
  if (!reader.isAtObject) return JSON.parse(bytes.toString());
  const members: [string, unknown][] = [];
  reader.enterObject();
  while (reader.nextMember()) {
    const name = JSON.parse(bytes.toString('utf8', reader.nameStart - 1, reader.nameEnd + 1)) as string;
    members.push([name, await parseMember(reader, steps)]);
  }
  return Object.fromEntries(members);
}

function parseMember(reader: JsonReader, steps: OwnedSteps): unknown {
  return reader.isAtArray ? parseList(reader, steps) : parseNext(reader);
}

async function parseList(reader: JsonReader, steps: OwnedSteps): Promise<unknown[]> {
  const elements: unknown[] = [];
  reader.enterArray();
  while (reader.nextElement()) {
    elements.push(parseNext(reader));
    const pause = steps.afterSlice();
    if (pause !== undefined) await pause;
  }
  return elements;
}

function parseNext(reader: JsonReader): unknown {
  const start = reader.at;
  reader.skipValue();
  return JSON.parse(reader.bytes.toString('utf8', start, reader.at));
}
