import { version } from '../config/package.ts';

/** One entry of a durable cache. */
export const MAX_ENTRY_BYTES = 4_000_000;
/** All entries that are being written. */
export const MAX_PENDING_BYTES = 16_000_000;

/**
 * Holds permanently valid results outside of the memory of a process: in a file of the machine, or in a Redis. No method rejects: a
 * gateway works without it.
 */
export interface DurableCache {
  readonly kind: 'disk' | 'redis';
  /** @returns JSON; undefined on a miss, a failure or a timeout */
  get(key: string): Promise<string | Buffer | undefined>;
  /** Starts a write, or skips it. @param json a permanently valid result */
  set(key: string, json: string | Buffer): void;
  /** Reads without a limit of the waiting time. */
  read(key: string): Promise<{ readonly json: string | Buffer } | 'miss' | 'failed'>;
  /** @returns whether it is written */
  write(key: string, json: string | Buffer): Promise<boolean>;
  close(): Promise<void>;
}

/** Contains the version: another version may normalise differently. @param network its slug and chain id */
export function resultPrefixOf(network: string): string {
  return `gatehouse:answer:${version}:${network}:`;
}

/** Of the record by which gateways agree on the chain of their entries. @param network its slug and chain id */
export function chainKeyOf(network: string): string {
  return `gatehouse:chain:${network}`;
}
