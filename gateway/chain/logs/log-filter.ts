import { createHash } from 'node:crypto';
import { RpcError } from '../../jsonrpc/errors.ts';

/** The members of a log that filters use. */
export interface EventLog {
  readonly address: string;
  readonly topics: readonly string[];
}

/** A parsed log filter. Addresses and topics are in lower case. */
export interface LogFilter {
  readonly fromBlock: bigint | undefined;
  readonly toBlock: bigint | undefined;
  /** Addresses; undefined: any address. */
  readonly addresses: ReadonlySet<string> | undefined;
  /** Topics by position. Undefined: any topic, but the log must have one at this position. */
  readonly topics: readonly (ReadonlySet<string> | undefined)[];
}

export type LogValues = Pick<LogFilter, 'addresses' | 'topics'>;

/** The filter of a request, validated by the schema. */
export interface FilterParams {
  readonly fromBlock?: string | null;
  readonly toBlock?: string | null;
  readonly blockHash?: string | null;
  readonly address?: string | readonly string[] | null;
  readonly topics?: readonly (string | readonly (string | null)[] | null)[] | null;
}

/** Longer keys are hashed: they would take as much memory as the filter. */
const MAX_KEY_CHARS = 200;
/** geth's limit (eth/filters/api.go, `maxTopics`): logs have at most four topics. */
const MAX_TOPICS = 4;

/**
 * Follows geth's rules (eth/filters/filter_system.go, `SubscribeLogs`) with one difference: geth ignores a block hash,
 * which is rejected here, because a polled filter has only logs of new blocks. A subscription ignores it as geth does.
 * @throws RpcError invalid-params
 */
export function parseLogFilter(params: FilterParams): LogFilter {
  const { fromBlock, toBlock, blockHash, address, topics } = params;
  if (typeof blockHash === 'string')
    throw invalidFilter('expected no blockHash: only logs of new blocks are delivered');
  const from = parseBlockNumber(fromBlock);
  const to = parseBlockNumber(toBlock);
  if (to !== undefined && (from === undefined || from > to)) throw invalidFilter('expected fromBlock before toBlock');
  if ((topics?.length ?? 0) > MAX_TOPICS) throw invalidFilter(`expected at most ${MAX_TOPICS} topics`);
  return {
    fromBlock: from,
    toBlock: to,
    addresses: valueSet(typeof address === 'string' ? [address] : (address ?? [])),
    topics: (topics ?? []).map(parseTopic),
  };
}

/** Addresses and topics of a filter with any range. Undefined: it has more topics than a log. */
export function valuesOf({ address = null, topics = null }: FilterParams): LogValues | undefined {
  return (topics?.length ?? 0) > MAX_TOPICS ? undefined : parseLogFilter({ address, topics });
}

/** Number of addresses and topics as they are sent: those that are null or sent twice count, too. */
export function countValues({ address, topics }: FilterParams): number {
  const lists = [address, ...(topics ?? [])];
  return lists.reduce((sum, list) => sum + (Array.isArray(list) ? list.length : typeof list === 'string' ? 1 : 0), 0);
}

const members: ReadonlySet<string> = new Set([
  'fromBlock',
  'toBlock',
  'address',
  'topics',
] satisfies (keyof FilterParams)[]);

/** The parameters of a filter without members that the spec does not name, which may have any size. */
export function knownMembers(params: FilterParams): FilterParams {
  return Object.fromEntries(Object.entries(params).filter(([name]) => members.has(name)));
}

/** Number of addresses and topics in a filter. */
export function sizeOf({ addresses, topics }: LogFilter): number {
  return topics.reduce((sum, position) => sum + (position?.size ?? 0), addresses?.size ?? 0);
}

/** A key that is equal for equal filters, whatever the order of their addresses and topics. */
export function logFilterKey({ fromBlock, toBlock, addresses, topics }: LogFilter): string {
  const valueLists = [addresses, ...topics].map((values) => [...(values ?? [])].toSorted().join());
  const key = [fromBlock, toBlock, ...valueLists].join('|');
  return key.length > MAX_KEY_CHARS ? createHash('sha256').update(key).digest('base64') : key;
}

/** Matches as geth's `filterLogs` without the address: `LogFilterGroups` finds filters by address first. */
export function matchesLog({ fromBlock, toBlock, topics }: LogFilter, log: EventLog, block: bigint): boolean {
  if (fromBlock !== undefined && block < fromBlock) return false;
  if (toBlock !== undefined && block > toBlock) return false;
  if (topics.length > log.topics.length) return false;
  return topics.every((allowed, index) => allowed?.has(log.topics[index] ?? '') !== false);
}

/** `latest` sets no bound, because delivery starts at the head. geth also rejects other tags. */
function parseBlockNumber(block: string | null | undefined): bigint | undefined {
  if (block === undefined || block === null || block === 'latest') return undefined;
  if (block === 'earliest') return 0n;
  if (!block.startsWith('0x')) throw invalidFilter('expected block numbers or latest');
  return BigInt(block);
}

/** An empty list, or a list with a null, means any topic. */
function parseTopic(param: string | readonly (string | null)[] | null): ReadonlySet<string> | undefined {
  if (param === null) return undefined;
  const topics = typeof param === 'string' ? [param] : param.filter((topic) => topic !== null);
  return typeof param !== 'string' && topics.length < param.length ? undefined : valueSet(topics);
}

function valueSet(values: readonly string[]): ReadonlySet<string> | undefined {
  return values.length === 0 ? undefined : new Set(values.map((value) => value.toLowerCase()));
}

function invalidFilter(problem: string): RpcError {
  return new RpcError('invalid-params', `invalid params: filter: ${problem}`);
}
