import { OwnedSteps } from '../../event-loop/owned-steps.ts';
import { JsonReader, NotJson } from '../../json/json-reader.ts';
import { jsonResponse, type UpstreamResponse } from '../../upstreams/transport/upstream-response.ts';

interface Position {
  readonly bytes: Buffer;
  readonly block: number;
  /** Transaction of the log; 0: the log does not name it. */
  readonly transaction: number;
  readonly index: number;
}

const [OPEN, COMMA, CLOSE] = [Buffer.from('['), Buffer.from(','), Buffer.from(']')];
const [BLOCK_NUMBER, LOG_INDEX] = [Buffer.from('blockNumber'), Buffer.from('logIndex')];
const TRANSACTION_INDEX = Buffer.from('transactionIndex');

/**
 * A list of logs in chain order, each once. One with something else, or a log without a place, stays as it is.
 * @param owner whose event-loop time it takes
 */
export async function inChainOrder(response: UpstreamResponse, owner: string): Promise<UpstreamResponse> {
  if (response.kind === 'error') return response;
  const merged = await mergeLogs(
    response.kind === 'large'
      ? [Buffer.concat(response.parts)]
      : [Buffer.from(response.text ?? JSON.stringify(response.result))],
    owner,
  );
  return merged === undefined ? response : jsonResponse(Buffer.concat([OPEN, merged, CLOSE]));
}

/**
 * Merges lists of logs of the same blocks into chain order, each once, without parsing them. On some chains, the index of a log
 * counts in its transaction.
 * @param lists JSON arrays
 * @param owner whose event-loop time it takes
 * @returns the elements with commas between them; undefined: a list has something else than logs
 */
export async function mergeLogs(lists: readonly Buffer[], owner: string): Promise<Buffer | undefined> {
  const logs: Position[] = [];
  const steps = new OwnedSteps(owner);
  try {
    for (const list of lists) {
      const reader = new JsonReader(list);
      reader.skipSpace();
      reader.enterArray();
      while (reader.nextElement()) {
        logs.push(readLog(reader));
        const pause = steps.afterSlice();
        if (pause !== undefined) await pause;
      }
    }
  } catch (error) {
    if (error instanceof NotJson) return undefined;
    throw error;
  } finally {
    steps.charge();
  }
  if (logs.some(({ block, index }) => Number.isNaN(block + index))) return undefined;
  logs.sort((one, other) => one.block - other.block || one.transaction - other.transaction || one.index - other.index);
  const distinct = logs.filter(({ bytes }, at) => logs[at - 1]?.bytes.equals(bytes) !== true);
  return Buffer.concat(distinct.flatMap(({ bytes }, at) => (at === 0 ? [bytes] : [COMMA, bytes])));
}

function readLog(reader: JsonReader): Position {
  const { bytes } = reader;
  const log = reader.at;
  let [block, transaction, index] = [NaN, 0, NaN];
  reader.enterObject();
  while (reader.nextMember()) {
    const isBlock = reader.isName(BLOCK_NUMBER);
    const isIndex = reader.isName(LOG_INDEX);
    const isTransaction = reader.isName(TRANSACTION_INDEX);
    const value = reader.at;
    reader.skipValue();
    if (isBlock) block = quantityIn(bytes, value, reader.at);
    else if (isIndex) index = quantityIn(bytes, value, reader.at);
    else if (isTransaction) transaction = quantityIn(bytes, value, reader.at) || 0;
  }
  return { bytes: bytes.subarray(log, reader.at), block, transaction, index };
}

/** Quantity within quotes. NaN: not a quantity. */
function quantityIn(bytes: Buffer, start: number, end: number): number {
  return Number(bytes.toString('latin1', start + 1, end - 1) || NaN);
}
