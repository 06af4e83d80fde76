import { quantity } from './block-parts.ts';
import type { ConsistencyChecker } from './consistency-checker.ts';
import type { Exchange } from './exchange.ts';
import { blocksBetween, logsOf, type TrueBlock, type TrueLog } from './true-chain.ts';

export interface LogRange {
  readonly from: number;
  /** Last block; undefined: the newest one. */
  readonly to: number | undefined;
  readonly address: string | undefined;
}

/** Nodes may have been on another branch this long before a call was sent. */
const BRANCH_MS = 12_000;

/**
 * Checks that a list has all the logs of a range on one branch: up to the end of the range, or, if that is above the newest
 * block, up to a head that is not older than the newest served block.
 */
export function checkLogsOfRange(
  { from, to, address }: LogRange,
  result: unknown,
  exchange: Exchange,
  checker: ConsistencyChecker,
): void {
  const { history } = checker;
  const { sent, at } = exchange;
  const logs = identitiesIn(result);
  const mustReach = Math.min(to ?? Infinity, checker.floor('latest', exchange), history.lowestServing(sent.at, at));
  const expectedOn = (head: TrueBlock): TrueLog[] =>
    blocksBetween(head, from, to ?? head.number).flatMap((block) => logsOf(block, address));
  const isCompleteOn = (head: TrueBlock): boolean => {
    if (head.number < mustReach) return false;
    const expected = expectedOn(head);
    const missing = expected[logs.length];
    return (
      logs.length <= expected.length &&
      logs.every((log, index) => log === identityOf(expected[index] as TrueLog)) &&
      (missing === undefined || missing.block.number > mustReach)
    );
  };
  const isComplete = [history.headAt(at), ...history.headsDuring(sent.at - BRANCH_MS, at)].some(isCompleteOn);
  if (isComplete) {
    const last = history.blocks.get(logs.at(-1)?.split(' ')[0] ?? '');
    if (last !== undefined) checker.recordDelivered(last, at);
    return;
  }
  const expected = expectedOn(history.headAt(at));
  const text = `${expected.length} logs of blocks up to ${mustReach} or above: ${describe(expected.map(identityOf), history.blocks)}`;
  checker.violate('logs-gap', exchange, text, `${logs.length} logs: ${describe(logs, history.blocks)}`);
}

/** Checks that a list has all the logs of a block, or is an empty list because the block was replaced. */
export function checkLogsOfBlock(
  target: TrueBlock,
  result: unknown,
  exchange: Exchange,
  checker: ConsistencyChecker,
): void {
  const logs = identitiesIn(result);
  const expected = logsOf(target).map(identityOf);
  if (logs.join() === expected.join()) return;
  if (logs.length === 0 && !checker.isServed(target, exchange)) return;
  checker.violate('logs-gap', exchange, `${expected.length} logs`, `${logs.length} logs`);
}

/** A text that identifies a log: the hash of its block, and its index. */
export function identityOf({ block, index }: TrueLog): string {
  return identity(block.hash, quantity(index));
}

export function identityIn({ blockHash, logIndex }: Readonly<Record<string, unknown>>): string {
  return identity(String(blockHash), String(logIndex));
}

function identity(blockHash: string, logIndex: string): string {
  return `${blockHash} ${logIndex}`;
}

function identitiesIn(result: unknown): string[] {
  return Array.isArray(result) ? result.map(identityIn) : ['not a list'];
}

function describe(logs: readonly string[], blocks: ReadonlyMap<string, TrueBlock>): string {
  const numbers = new Set(logs.map((log) => blocks.get(log.split(' ')[0] ?? '')?.number ?? '?'));
  return `of blocks ${[...numbers].join()}`;
}
