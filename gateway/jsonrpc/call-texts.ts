import { JsonReader } from '../json/json-reader.ts';
import { MemberFault, MemberNames } from '../json/member-names.ts';
import { decodeText } from '../json/plain-bytes.ts';
import { requestMembers } from './request-members.generated.ts';

/** The parts of a request that JSON.parse does not preserve. */
export interface CallTexts {
  /** The id as JSON text, if any. JSON.parse turns 9007199254740993 into …992, and 1.0 into 1. */
  id: string | undefined;
  /** The parameters as JSON text, if any. */
  params: string | undefined;
  /** A member of the envelope that is duplicated, or spelt in another case. */
  fault: MemberFault | undefined;
  /** `params` is as JSON.stringify writes it. */
  readonly isPlain: boolean;
}

/** Writing a longer text takes longer than 0.1 ms. */
const MAX_REWRITTEN_CHARS = 50_000;
const noTexts: CallTexts = { id: undefined, params: undefined, fault: undefined, isPlain: false };
const names = new MemberNames(requestMembers);
const ID = requestMembers.indexOf('id');
const PARAMS = requestMembers.indexOf('params');

/**
 * Reads the texts of a request, or of each request of a batch. Most clients write JSON as JSON.stringify does. Then no
 * member is duplicated, and each part can be written again; otherwise the bytes are read.
 * @param text the same as `bytes`
 * @param body the value of the text
 */
export function readCallTexts(bytes: Buffer, text: string, body: unknown): CallTexts[] {
  if (text.length > MAX_REWRITTEN_CHARS || JSON.stringify(body) !== text) return scanCalls(bytes, text);
  return Array.isArray(body) ? body.map(rewrite) : [rewrite(body)];
}

function rewrite(item: unknown): CallTexts {
  if (typeof item !== 'object' || item === null) return { ...noTexts, isPlain: true };
  const { id, params } = item as { readonly id?: unknown; readonly params?: unknown };
  return {
    // `String` allocates nothing for small numbers, and is the same for those of JSON.
    id: typeof id === 'number' ? String(id) : id === undefined ? undefined : JSON.stringify(id),
    params: params === undefined ? undefined : JSON.stringify(params),
    fault: names.findVariant(item),
    isPlain: true,
  };
}

/**
 * Reads a request, or each request of a batch.
 * @param bytes valid JSON
 * @param text the same as `bytes`
 */
export function scanCalls(bytes: Buffer, text: string): CallTexts[] {
  const reader = new JsonReader(bytes);
  reader.skipSpace();
  if (!reader.isAtArray) return [scanCall(reader, text)];
  const calls: CallTexts[] = [];
  reader.enterArray();
  while (reader.nextElement()) calls.push(scanCall(reader, text));
  return calls;
}

function scanCall(reader: JsonReader, text: string): CallTexts {
  const found: CallTexts = { ...noTexts };
  if (!reader.isAtObject) {
    reader.skipValue();
    return found;
  }
  let seen = 0;
  reader.enterObject();
  while (reader.nextMember()) {
    const index = names.find(reader, seen);
    const start = reader.at;
    reader.skipValue();
    // The id may follow.
    if (index instanceof MemberFault) found.fault ??= index;
    else if (index !== -1) {
      seen |= 1 << index;
      if (index === ID) found.id = textFrom(start, reader, text);
      else if (index === PARAMS) found.params = textFrom(start, reader, text);
    }
  }
  return found;
}

/** Text from `start` to the reader. If each byte is one character, nothing is decoded again. */
function textFrom(start: number, { bytes, at }: JsonReader, text: string): string {
  return text.length === bytes.length ? text.slice(start, at) : decodeText(bytes, start, at);
}
