import { writeTable as writePageTable } from '../support/page-table.ts';
import type { Fault, Outcome } from './faults.ts';

/** What came of a fault of an upstream, in milliseconds until answers. */
export interface Row {
  readonly fault: Fault;
  /** Beside a good upstream, and the next call after that. */
  readonly ms: number;
  readonly nextMs: number;
  /** Where there is no other. */
  readonly aloneMs: number;
}

/** What came of a fault of Redis. */
export interface RedisRow {
  readonly name: string;
  /** Until answers to a key that was seen before, and to one with limits. */
  readonly seenMs: number;
  readonly limitedMs: number;
  /** What a key that was not seen before is told, and when. */
  readonly told: number;
  readonly toldMs: number;
  /** From the mending until that key is let in. */
  readonly backMs: number;
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

export function rowOf({ fault, ms, nextMs, aloneMs }: Row): string[] {
  const [name, counts, alone, received] = promised(fault);
  return [name, time(ms), time(nextMs), counts, alone, time(aloneMs), received];
}

/** All but times: what a row must say. */
export function promised({ name, received, isHarmless, alone }: Fault): [string, string, string, string] {
  const good = isHarmless === true ? 0 : 1;
  return [name, `${received[0]}, ${good}`, told(alone), String(received[1])];
}

export function redisRowOf({ name, seenMs, limitedMs, told: status, toldMs, backMs }: RedisRow): string[] {
  return [name, time(seenMs), time(limitedMs), String(status), time(toldMs), time(backMs)];
}

export function writeTable(
  file: string,
  name: keyof typeof heading,
  rows: readonly string[][],
  command = 'npm run faults',
): void {
  writePageTable(file, name, [heading[name], ...rows], command);
}

function told({ status, error, result }: Outcome): string {
  if (error !== undefined) return `${status}, ${error.code} \`${error.message}\``;
  return result === null ? `${status}, null` : `${status}, the correct response`;
}

function time(ms: number): string {
  return ms < 9.5 ? `${ms.toFixed(1)} ms` : `${ms.toFixed(0)} ms`;
}
