import { endOfValue, NotJson, skipSpace, walkArray, walkObject } from '../jsonrpc/json-bytes.ts';

interface Position {
  readonly bytes: Buffer;
  block: number;
  index: number;
}

const COMMA = Buffer.from(',');

/**
 * Merges lists of logs of the same blocks into chain order, without parsing them.
 * @param lists JSON arrays @returns the elements with commas between them; undefined: a list has something else than logs
 */
export function mergeLogs(lists: readonly Buffer[]): Buffer | undefined {
  const logs: Position[] = [];
  try {
    for (const list of lists) walkArray(list, skipSpace(list, 0), (bytes, start) => addLog(logs, bytes, start));
  } catch (error) {
    if (error instanceof NotJson) return undefined;
    throw error;
  }
  if (logs.some(({ block, index }) => Number.isNaN(block + index))) return undefined;
  logs.sort((one, other) => one.block - other.block || one.index - other.index);
  return Buffer.concat(logs.flatMap(({ bytes }, at) => (at === 0 ? [bytes] : [COMMA, bytes])));
}

function addLog(logs: Position[], list: Buffer, start: number): number {
  let [block, index] = [NaN, NaN];
  const end = walkObject(list, start, (bytes, nameStart, nameEnd, valueStart, depth) => {
    const valueEnd = endOfValue(bytes, valueStart, depth);
    const name = bytes.toString('latin1', nameStart, nameEnd);
    if (name === 'blockNumber') block = quantityIn(bytes, valueStart, valueEnd);
    else if (name === 'logIndex') index = quantityIn(bytes, valueStart, valueEnd);
    return valueEnd;
  });
  logs.push({ bytes: list.subarray(start, end), block, index });
  return end;
}

/** Within quotes. NaN: not a quantity. */
function quantityIn(bytes: Buffer, start: number, end: number): number {
  return Number(bytes.toString('latin1', start + 1, end - 1) || NaN);
}
