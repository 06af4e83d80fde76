import {
  parseLogFilter,
  matchesLog,
  type EventLog,
  type FilterParams,
  type LogFilter,
} from '../chain/logs/log-filter.ts';
import { filterBits, LogsBloom, type FilterBits } from '../chain/logs/logs-bloom.ts';
import { clock } from '../clock/clock.ts';
import type { JsonObject } from '../collections/is-object.ts';
import { OwnedSteps } from '../event-loop/owned-steps.ts';
import { isOld } from '../routing-policy/candidate.ts';
import type { Evidence, Work } from './evidence/evidence.ts';
import {
  disproved,
  hasTimeOf,
  isLike,
  isWholeLog,
  otherBranch,
  proven,
  unknown,
  type Subject,
  type Finding,
} from './subject.ts';

/** A wider range needs more headers than arrive in the time for one call. */
const MAX_BLOCKS = 10_000n;
/** Blocks whose transactions, and then receipts, are requested together: those of Ethereum have 5 MB. */
const BLOCKS_AT_ONCE = 10;

/**
 * The logs of a filter, complete in each block: those of its receipts; none, if the bloom filter of its header shows that it
 * has none.
 */
export async function checkLogs(subject: Subject): Promise<Finding> {
  const { params, result, work } = subject;
  const given = params[0] as FilterParams;
  const headers = headersOf(given, subject);
  if (headers === undefined || !Array.isArray(result) || !result.every(isWholeLog)) return unknown;
  const filter = parseLogFilter({ ...given, fromBlock: null, toBlock: null, blockHash: null });
  const steps = new OwnedSteps(work.owner);
  const bits = await filterBits(filter, steps);
  steps.charge();
  const byBlock = logsByBlock(result as readonly JsonObject[]);
  if (byBlock === undefined) return disproved('logs in another order');
  let found = 0;
  for await (const some of headers) {
    const expected = some && (await logsIn(some, filter, bits, subject));
    if (expected === undefined) return unknown;
    for (const [header, ofHeader] of expected) {
      const logs = byBlock.get(BigInt(String(header['number']))) ?? [];
      found += logs.length;
      const difference = differenceOf(logs, ofHeader, header);
      if (difference !== undefined)
        return (await differsByHash(header, ofHeader, given, subject)) ? disproved(difference) : otherBranch;
    }
  }
  return found === result.length ? proven('root') : disproved('logs of other blocks');
}

/** Difference between logs and those that are expected, in words. Undefined: there is none. */
function differenceOf(
  logs: readonly unknown[],
  expected: readonly JsonObject[],
  header: JsonObject,
): string | undefined {
  if (logs.length !== expected.length) return logs.length < expected.length ? 'a missing log' : 'an added log';
  return expected.every((log, at) => isSameLog(logs[at] as JsonObject, log, header)) ? undefined : 'an altered log';
}

/**
 * Whether the upstream returns other logs for a block also by its hash. Behind one URL may be several nodes, of which one lags
 * or is on another branch: it returns fewer or other logs for a range, without a sign of it.
 */
async function differsByHash(
  header: JsonObject,
  expected: readonly JsonObject[],
  given: FilterParams,
  { evidence, work }: Subject,
): Promise<boolean> {
  const { head } = evidence.view;
  // No node lags by so many blocks.
  const isOldBlock = head !== undefined && isOld(Number(header['number']), Number(head.number));
  if (typeof given.blockHash === 'string' || isOldBlock) return true;
  const { address, topics } = given;
  const filter = { blockHash: String(header['hash']).toLowerCase(), address, topics };
  const logs = await evidence.logsOf(filter, work);
  return logs !== undefined && differenceOf(logs, expected, header) !== undefined;
}

/** Logs by block; undefined: a log is before one of an earlier block. */
function logsByBlock(logs: readonly JsonObject[]): Map<bigint, JsonObject[]> | undefined {
  const byBlock = new Map<bigint, JsonObject[]>();
  let newest = -1n;
  for (const log of logs) {
    const number = BigInt(String(log['blockNumber']));
    if (number < newest) return undefined;
    newest = number;
    const others = byBlock.get(number);
    if (others === undefined) byBlock.set(number, [log]);
    else others.push(log);
  }
  return byBlock;
}

/** Headers of a range; undefined: it is not known, or too wide. */
function headersOf(
  { fromBlock, toBlock, blockHash }: FilterParams,
  { evidence, work }: Subject,
): AsyncIterable<readonly JsonObject[] | undefined> | undefined {
  if (typeof blockHash === 'string') return headerOf(blockHash.toLowerCase(), evidence, work);
  const [from, to] = [numberOf(fromBlock), numberOf(toBlock)];
  if (from === undefined || to === undefined || from > to || to - from >= MAX_BLOCKS) return undefined;
  return evidence.headers(from, to, work);
}

/** Header of one block, in a list. It is requested when it is read: nothing would handle the failure of a request that is not awaited. */
async function* headerOf(
  hash: string,
  evidence: Evidence,
  work: Work,
): AsyncGenerator<readonly JsonObject[] | undefined, void> {
  const header = await evidence.header(hash, work);
  yield header && [header];
}

/** Number of a block; undefined: a tag, which is replaced before a call is sent if its block is known. */
function numberOf(block: unknown): bigint | undefined {
  if (block === 'earliest') return 0n;
  return typeof block === 'string' && block.startsWith('0x') ? BigInt(block) : undefined;
}

/** The logs of blocks, by their headers. Undefined: there is no evidence. @param bits of the filter */
async function logsIn(
  headers: readonly JsonObject[],
  filter: LogFilter,
  bits: FilterBits,
  { evidence, work }: Subject,
): Promise<ReadonlyMap<JsonObject, readonly JsonObject[]> | undefined> {
  const logs = new Map<JsonObject, readonly JsonObject[]>();
  const matching: JsonObject[] = [];
  const steps = new OwnedSteps(work.owner);
  for (const header of headers) {
    const bloom = new LogsBloom(header['logsBloom']);
    logs.set(header, []);
    if (!bloom.isEmpty && bloom.mayMatchBits(bits)) matching.push(header);
    const pause = steps.afterSlice();
    if (pause !== undefined) await pause;
  }
  steps.charge();
  for (let at = 0; at < matching.length; at += BLOCKS_AT_ONCE) {
    if (work.caller.isCancelled || clock.now() >= work.deadline) return undefined;
    const some = matching.slice(at, at + BLOCKS_AT_ONCE);
    const hashes = some.map(({ hash }) => String(hash).toLowerCase());
    // Receipts are checked with them.
    const blocks = await Promise.all(hashes.map((hash) => evidence.block(hash, work)));
    if (blocks.includes(undefined)) return undefined;
    const receipts = await Promise.all(hashes.map((hash) => evidence.receipts(hash, work)));
    for (const [index, header] of some.entries()) {
      const all = receipts[index]?.flatMap((receipt) => receipt['logs'] as readonly (JsonObject & EventLog)[]);
      if (all === undefined) return undefined;
      logs.set(header, logsOf(filter, all));
    }
  }
  return logs;
}

function logsOf(filter: LogFilter, logs: readonly (JsonObject & EventLog)[]): readonly JsonObject[] {
  return logs.filter((log) => {
    const lower = { address: log.address.toLowerCase(), topics: log.topics.map((topic) => topic.toLowerCase()) };
    return filter.addresses?.has(lower.address) !== false && matchesLog(filter, lower, 0n);
  });
}

function isSameLog(log: JsonObject, expected: JsonObject, header: JsonObject): boolean {
  return log['removed'] !== true && hasTimeOf(header, log) && isLike(log, expected, 'Log');
}
