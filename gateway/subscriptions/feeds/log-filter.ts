import { RpcError } from '../../jsonrpc/errors.ts';

/** A log as upstreams tell it, as far as a filter looks at it. */
export interface Log {
  readonly address: string;
  readonly topics: readonly string[];
}

/** Which logs are wanted. Addresses and topics are in lower case. */
export interface LogFilter {
  readonly fromBlock: bigint | undefined;
  readonly toBlock: bigint | undefined;
  /** Undefined: all. */
  readonly addresses: ReadonlySet<string> | undefined;
  /** By place; undefined: any topic, but there must be one. */
  readonly topics: readonly (ReadonlySet<string> | undefined)[];
}

/** What a caller may give, after the schema let it through. */
interface FilterParams {
  readonly fromBlock?: string | null;
  readonly toBlock?: string | null;
  readonly blockHash?: string | null;
  readonly address?: string | readonly string[] | null;
  readonly topics?: readonly (string | readonly (string | null)[] | null)[] | null;
}

/** geth's bound (eth/filters/api.go, `maxTopics`): a log has no more. */
const MAX_TOPICS = 4;

/**
 * The rules are geth's (eth/filters/filter_system.go, `SubscribeLogs`), but that a block hash, which it ignores, is
 * refused: such a subscription tells nothing new.
 * @throws RpcError invalid-params
 */
export function parseLogFilter(given: FilterParams): LogFilter {
  const { fromBlock, toBlock, blockHash, address, topics } = given;
  if (typeof blockHash === 'string') throw invalidFilter('expected no blockHash: what comes is told, not what was');
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

/** How much there is to keep of a filter: its addresses and topics. */
export function sizeOf({ addresses, topics }: LogFilter): number {
  return topics.reduce((sum, place) => sum + (place?.size ?? 0), addresses?.size ?? 0);
}

/** The same for filters that let the same logs through, but for the order in which things are named. */
export function logFilterKey({ fromBlock, toBlock, addresses, topics }: LogFilter): string {
  const places = [addresses, ...topics].map((place) => [...(place ?? [])].join());
  return [fromBlock, toBlock, ...places].join('|');
}

/** As geth's `filterLogs`, without the address, which whoever keeps many filters looks at first. */
export function matchesLog({ fromBlock, toBlock, topics }: LogFilter, log: Log, block: bigint): boolean {
  if (fromBlock !== undefined && block < fromBlock) return false;
  if (toBlock !== undefined && block > toBlock) return false;
  if (topics.length > log.topics.length) return false;
  return topics.every((place, index) => place?.has(log.topics[index] ?? '') !== false);
}

/** `latest` is what is told anyway; a range of other tags geth does not take either. */
function parseBlockNumber(given: string | null | undefined): bigint | undefined {
  if (given === undefined || given === null || given === 'latest') return undefined;
  if (given === 'earliest') return 0n;
  if (!given.startsWith('0x')) throw invalidFilter('expected block numbers or latest');
  return BigInt(given);
}

/** An empty list, and one with null in it, mean any. */
function parseTopic(given: string | readonly (string | null)[] | null): ReadonlySet<string> | undefined {
  if (given === null) return undefined;
  const topics = typeof given === 'string' ? [given] : given.filter((topic) => topic !== null);
  return typeof given !== 'string' && topics.length < given.length ? undefined : valueSet(topics);
}

function valueSet(values: readonly string[]): ReadonlySet<string> | undefined {
  return values.length === 0 ? undefined : new Set(values.map((value) => value.toLowerCase()).toSorted());
}

function invalidFilter(what: string): RpcError {
  return new RpcError('invalid-params', `invalid params: filter: ${what}`);
}
