import { version } from '../config/package.ts';
import type { DurableCacheMetric } from '../metrics/metrics.ts';

/** Bytes of one entry. */
const MAX_ENTRY_BYTES = 4_000_000;
/** Bytes of all entries that are being written. */
const MAX_PENDING_BYTES = 16_000_000;

/**
 * Holds permanently valid results outside of the memory of a process: in a file of the machine, or in a Redis. No method rejects: a
 * gateway works without it.
 */
export abstract class DurableCache {
  abstract readonly kind: 'disk' | 'redis';
  protected readonly count: DurableCacheMetric;
  #pendingBytes = 0;

  constructor(count: DurableCacheMetric) {
    this.count = count;
  }

  /** @returns JSON; undefined on a miss, a failure or a timeout */
  abstract get(key: string): Promise<string | Buffer | undefined>;
  /** Reads without a limit of the waiting time. */
  abstract read(key: string): Promise<{ readonly json: string | Buffer } | 'miss' | 'failed'>;
  /** @returns whether it is written */
  abstract write(key: string, json: string | Buffer): Promise<boolean>;
  abstract close(): Promise<void>;
  /** Whether a call may try it now. */
  protected abstract get isUsable(): boolean;

  /** Starts a write, or skips it. @param json a permanently valid result */
  set(key: string, json: string | Buffer): void {
    const { length } = json;
    if (length > MAX_ENTRY_BYTES || this.#pendingBytes + length > MAX_PENDING_BYTES || !this.isUsable) {
      this.count('not-written');
      return;
    }
    this.#pendingBytes += length;
    void this.write(key, json).then((isWritten) => {
      this.#pendingBytes -= length;
      this.count(isWritten ? 'written' : 'not-written');
    });
  }
}

/** Prefix with the version: another version may normalise differently. @param network its slug and chain id */
export function resultPrefixOf(network: string): string {
  return `gatehouse:answer:${version}:${network}:`;
}

/** Key of the record by which gateways agree on the chain of their entries. @param network its slug and chain id */
export function chainKeyOf(network: string): string {
  return `gatehouse:chain:${network}`;
}
