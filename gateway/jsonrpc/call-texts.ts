import { endOfValue, isArrayAt, isObjectAt, startOfNext, walkArray, walkObject } from './json-text.ts';
import { MemberFault, MemberNames } from './member-names.ts';
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

interface Scan {
  readonly found: CallTexts;
  /** Bits of the members found so far. */
  seen: number;
}

/** Writing a longer text takes longer than 0.1 ms. */
const MAX_REWRITTEN_CHARS = 50_000;
const noTexts: CallTexts = { id: undefined, params: undefined, fault: undefined, isPlain: false };
const names = new MemberNames(requestMembers);
const ID = requestMembers.indexOf('id');
const PARAMS = requestMembers.indexOf('params');

/**
 * Reads the texts of a request, or of each request of a batch. Most clients write JSON as JSON.stringify does. Then no
 * member is duplicated, and each part can be written again; otherwise the text is scanned.
 * @param body the value of the text
 */
export function readCallTexts(text: string, body: unknown): CallTexts[] {
  if (text.length > MAX_REWRITTEN_CHARS || JSON.stringify(body) !== text) return scanCalls(text);
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
 * Scans a request, or each request of a batch.
 * @param text valid JSON
 */
export function scanCalls(text: string): CallTexts[] {
  const start = startOfNext(text, 0);
  const calls: CallTexts[] = [];
  if (isArrayAt(text, start)) walkArray(text, start, scanItem, calls);
  else scanItem(text, start, 0, calls);
  return calls;
}

function scanItem(text: string, start: number, _index: number, calls: CallTexts[]): number {
  const found: CallTexts = { ...noTexts };
  calls.push(found);
  return isObjectAt(text, start) ? walkObject(text, start, scanMember, { found, seen: 0 }) : endOfValue(text, start);
}

function scanMember(text: string, nameStart: number, nameEnd: number, valueStart: number, scan: Scan): number {
  const end = endOfValue(text, valueStart);
  let index: number;
  try {
    index = names.find(text, nameStart, nameEnd, scan.seen);
  } catch (error) {
    if (!(error instanceof MemberFault)) throw error;
    // The id may follow.
    scan.found.fault ??= error;
    return end;
  }
  if (index === -1) return end;
  scan.seen |= 1 << index;
  if (index === ID) scan.found.id = text.slice(valueStart, end);
  else if (index === PARAMS) scan.found.params = text.slice(valueStart, end);
  return end;
}
