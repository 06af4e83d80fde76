import type { KeyLimits } from '../auth/permissions/key-limits.ts';
import type { RedisLink } from '../redis/link.ts';
import { addChargeCommand, chargeAtRedis, readPeriods, type ChargingRedis } from './charge-script.ts';
import type { ChargeRequest, ChargeResult, ChargeStore } from './charge-store.ts';
import type { Charge, LimitState } from './limit-state.ts';

/** Counts the charges of all gateways. */
export class RedisChargeStore implements ChargeStore {
  readonly kind = 'redis';
  readonly #link: RedisLink;

  /** @param link closed by `close` */
  constructor(link: RedisLink) {
    addChargeCommand(link.redis);
    this.#link = link;
  }

  get isUp(): boolean {
    return this.#link.isUp;
  }

  get connection(): number {
    return this.#link.connection;
  }

  charge(limits: KeyLimits, charges: readonly Charge[], request: ChargeRequest): Promise<ChargeResult> {
    return chargeAtRedis(this.#link.redis as ChargingRedis, limits, charges, request);
  }

  readPeriods(account: string): Promise<LimitState> {
    return readPeriods(this.#link.redis, account);
  }

  reportFailure(error: unknown): unknown {
    return this.#link.reportFailure(error);
  }

  async waitUntilUp(timeoutMs: number): Promise<void> {
    await this.#link.waitUntilUp(timeoutMs);
  }

  close(): Promise<void> {
    return this.#link.close();
  }
}
