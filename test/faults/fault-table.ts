import { writeTable as writePageTable } from '../support/page-table.ts';
import type { Fault, Outcome } from './faults.ts';

/** The measured times until responses with a failed upstream. */
export interface FaultRow {
  readonly fault: Fault;
  /** Times with a second, working upstream: of the first call, and the next one. */
  readonly ms: number;
  readonly nextMs: number;
  /** Time without another upstream. */
  readonly aloneMs: number;
}

/** The measured times until responses while Redis fails. */
export interface RedisRow {
  readonly name: string;
  /** Time for a cached key, and for one with limits. */
  readonly cachedMs: number;
  readonly limitedMs: number;
  /** Status for a key that is not cached. */
  readonly uncachedStatus: number;
  readonly uncachedMs: number;
  /** Time from the end of the fault until that key is accepted. */
  readonly recoveryMs: number;
}

export const heading = {
  upstreams: [
    'fault',
    'correct response',
    'next call',
    'requests: faulty, good',
    'as only upstream',
    'after',
    'requests',
  ],
  failover: ['the first upstream', 'through', 'p50', 'p99', 'max', 'calls', 'client retries'],
  redis: ['fault', 'cached key', 'key with limits', 'key not cached', 'after', 'accepted after'],
} as const;

export function rowOf({ fault, ms, nextMs, aloneMs }: FaultRow): string[] {
  const [name, counts, alone, received] = expectedCells(fault);
  return [name, time(ms), time(nextMs), counts, alone, time(aloneMs), received];
}

/** The expected cells of a row: all except times. */
export function expectedCells({ name, received, isHarmless, alone }: Fault): [string, string, string, string] {
  const good = isHarmless === true ? 0 : 1;
  return [name, `${received[0]}, ${good}`, outcomeText(alone), String(received[1])];
}

export function redisRowOf(row: RedisRow): string[] {
  const { name, cachedMs, limitedMs, uncachedStatus, uncachedMs, recoveryMs } = row;
  return [name, time(cachedMs), time(limitedMs), String(uncachedStatus), time(uncachedMs), time(recoveryMs)];
}

export function writeTable(
  file: string,
  name: keyof typeof heading,
  rows: readonly string[][],
  command = 'npm run bench -- faults',
): void {
  writePageTable(file, name, [heading[name], ...rows], command);
}

function outcomeText({ status, error, result }: Outcome): string {
  if (error !== undefined) return `${status}, ${error.code} \`${error.message}\``;
  return result === null ? `${status}, null` : `${status}, the correct response`;
}

function time(ms: number): string {
  return ms < 9.5 ? `${ms.toFixed(1)} ms` : `${ms.toFixed(0)} ms`;
}
