import { endOfValue, isArrayAt, isObjectAt, startOfNext, walkArray, walkObject } from './json-text.ts';
import { MemberFault, MemberNames } from './member-names.ts';
import { requestMembers } from './request-members.generated.ts';

/** The parts of a request that JSON.parse does not preserve. */
export interface ScannedCall {
  /** The id as JSON text, if any. JSON.parse turns 9007199254740993 into …992, and 1.0 into 1. */
  id: string | undefined;
  /** The parameters as JSON text, if any. */
  params: string | undefined;
  /** A member of the envelope that is duplicated, or spelt in another case. */
  fault: MemberFault | undefined;
}

interface Scan {
  readonly found: ScannedCall;
  /** Bits of the members found so far. */
  seen: number;
}

const names = new MemberNames(requestMembers);
const ID = requestMembers.indexOf('id');
const PARAMS = requestMembers.indexOf('params');

/**
 * Scans a request, or each request of a batch.
 * @param text valid JSON
 */
export function scanCalls(text: string): ScannedCall[] {
  const start = startOfNext(text, 0);
  const calls: ScannedCall[] = [];
  if (isArrayAt(text, start)) walkArray(text, start, scanItem, calls);
  else scanItem(text, start, 0, calls);
  return calls;
}

function scanItem(text: string, start: number, _index: number, calls: ScannedCall[]): number {
  const found: ScannedCall = { id: undefined, params: undefined, fault: undefined };
  calls.push(found);
  if (!isObjectAt(text, start)) return endOfValue(text, start);
  try {
    return walkObject(text, start, scanMember, { found, seen: 0 });
  } catch (error) {
    if (!(error instanceof MemberFault)) throw error;
    found.fault = error;
    return endOfValue(text, start);
  }
}

function scanMember(text: string, nameStart: number, nameEnd: number, valueStart: number, scan: Scan): number {
  const index = names.find(text, nameStart, nameEnd, scan.seen);
  const end = endOfValue(text, valueStart);
  if (index === -1) return end;
  scan.seen |= 1 << index;
  if (index === ID) scan.found.id = text.slice(valueStart, end);
  else if (index === PARAMS) scan.found.params = text.slice(valueStart, end);
  return end;
}
