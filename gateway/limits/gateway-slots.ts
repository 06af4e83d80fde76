import type { SlotLease, SlotLeases, SlotPool } from '../admission/slot-lease.ts';
import { clock } from '../clock/clock.ts';
import { random } from '../clock/random.ts';
import type { RedisClient } from '../redis/client.ts';
import type { RedisLink } from '../redis/link.ts';
import { EXCHANGE_MS } from './account-units.ts';

/** One hash per limit, in a folder of the keys for which a gateway has rights in Redis. */
const PREFIX = 'gatehouse:limit:slots:';
/** Slots of a gateway without a report for this time are those of the others. */
const EXPIRY_MS = 1_000;
/** Reports without a second request in flight after which a gateway reports no more. */
const MAX_IDLE = 5;

/**
 * Replaces the slots of one gateway by as many as it wants and the others leave, and by no fewer than it cannot return. Returns
 * them, and the need and the id of each other gateway. Arguments: id, limit, least, wanted, need; without slots, it has no entry.
 */
const script = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local left, uses, others = tonumber(ARGV[2]), {}, {}
local stored = redis.call('HGET', KEYS[1], 'uses') or ''
for at, held, needed, id in string.gmatch(stored, '(%d+) (%d+) (%d+) (%S+)') do
  if id ~= ARGV[1] and math.abs(now - at) < ${EXPIRY_MS} then
    left = left - held
    uses[#uses + 1] = table.concat({ at, held, needed, id }, ' ')
    others[#others + 1] = needed
    others[#others + 1] = id
  end
end
local held = math.max(tonumber(ARGV[3]), math.min(tonumber(ARGV[4]), left))
if held > 0 then uses[#uses + 1] = table.concat({ now, held, ARGV[5], ARGV[1] }, ' ') end
redis.call('HSET', KEYS[1], 'uses', table.concat(uses, '\\n'))
redis.call('PEXPIRE', KEYS[1], ${EXPIRY_MS})
return { held, unpack(others) }`;

type ScriptedRedis = RedisClient & {
  gatehouseSlots(key: string, ...args: (string | number)[]): Promise<[number, ...string[]]>;
};

/** Slots that a gateway needs. */
interface Need {
  readonly id: string;
  readonly slots: number;
}

/**
 * Leases of slots that all gateways with one Redis share. One request at a time needs no lease. While a gateway has more, it
 * reports what it has and needs every 100 ms, and its slots are those that the others do not have, at least one. While Redis is
 * unavailable, it has all.
 */
export class GatewaySlots implements SlotLeases {
  readonly #link: RedisLink;
  readonly #redis: ScriptedRedis;
  readonly #onFailure: (error: unknown) => void;
  readonly #id = random.uuid();
  readonly #used = new Set<GatewayLease>();
  #lastId = 0;

  /** @param onFailure reports the error of a command */
  constructor(link: RedisLink, onFailure: (error: unknown) => void) {
    link.redis.defineCommand('gatehouseSlots', { numberOfKeys: 1, lua: script });
    this.#link = link;
    this.#redis = link.redis as ScriptedRedis;
    this.#onFailure = onFailure;
  }

  open(name: string, limit: number, pool: SlotPool): SlotLease {
    return new GatewayLease(this, name, pool, limit);
  }

  /** An id for the use of a lease, unique among all gateways. */
  newId(): string {
    return `${this.#id}/${++this.#lastId}`;
  }

  get isUp(): boolean {
    return this.#link.isUp;
  }

  /** @returns the slots of this gateway, and what the others need; undefined: Redis is unavailable. The promise never rejects */
  async report(
    name: string,
    use: Use,
  ): Promise<{ readonly held: number; readonly others: readonly Need[] } | undefined> {
    if (!this.#link.isUp) return undefined;
    try {
      const [held, ...others] = await this.#redis.gatehouseSlots(PREFIX + name, ...use);
      return { held, others: needsIn(others) };
    } catch (error) {
      this.#onFailure(error);
      return undefined;
    }
  }

  /** Renews a lease from now on. */
  renew(lease: GatewayLease): void {
    if (this.#used.size === 0) this.#renewLater();
    this.#used.add(lease);
  }

  #renewLater(): void {
    clock
      .setTimeout(() => {
        for (const lease of this.#used) if (!lease.renew()) this.#used.delete(lease);
        if (this.#used.size > 0) this.#renewLater();
      }, EXCHANGE_MS)
      .unref();
  }
}

/** Arguments of the script. */
type Use = readonly [id: string, limit: number, least: number, wanted: number, need: number];

class GatewayLease implements SlotLease {
  readonly #slots: GatewaySlots;
  readonly #name: string;
  readonly #pool: SlotPool;
  /** Id for the other gateways; undefined: no report was needed yet, as in most accounts. */
  #ownId: string | undefined;
  #limit: number;
  #isShared = false;
  /** Slots that it needs, as far as the others know. */
  #reported = 0;
  #reportedAt = -Infinity;
  #reporting: Promise<void> | undefined;
  /** Slots that it needed when a request found none since the last report: calls to an upstream may not wait. */
  #refused = 0;
  #others: readonly Need[] = [];
  /** Renewals without a second request in flight. */
  #idle = 0;

  constructor(slots: GatewaySlots, name: string, pool: SlotPool, limit: number) {
    this.#slots = slots;
    this.#name = name;
    this.#pool = pool;
    this.#limit = limit;
    pool.size = limit;
  }

  get limit(): number {
    return this.#limit;
  }

  setLimit(limit: number, isShared = false): void {
    if (limit === this.#limit && isShared === this.#isShared) return;
    [this.#limit, this.#isShared] = [limit, isShared];
    this.#pool.size = isShared ? Math.min(limit, this.#reported === 0 ? 1 : this.#pool.size) : limit;
  }

  requestMore(): Promise<void> | undefined {
    if (!this.#isShared) return undefined;
    const { inFlight, waiting } = this.#pool;
    this.#refused = Math.min(inFlight + Math.max(1, waiting), this.#limit);
    if (this.#refused <= this.#reported) return this.#reporting;
    this.#slots.renew(this);
    return (this.#reporting ??= this.#report());
  }

  requestEnded(): void {
    // The next report has it.
  }

  close(): void {
    // Its reports end with its requests.
    if (this.#reported > 0 && this.#pool.inFlight + this.#pool.waiting === 0) this.#end();
  }

  /** Reports again. @returns false: it is used no more */
  renew(): boolean {
    const { inFlight, waiting } = this.#pool;
    this.#idle = inFlight + waiting > 1 ? 0 : this.#idle + 1;
    if (this.#isShared && this.#idle < MAX_IDLE) {
      this.#reporting ??= this.#report();
      return true;
    }
    if (this.#reporting !== undefined) return true;
    this.#end();
    return false;
  }

  /** Leaves all slots to the others, but the one for a first request. */
  #end(): void {
    // The next request in flight beside another one begins again.
    [this.#idle, this.#reported, this.#reportedAt] = [MAX_IDLE, 0, -Infinity];
    if (this.#isShared) this.#pool.size = 1;
    void this.#slots.report(this.#name, this.#use(0, 0, 0));
  }

  #use(least: number, wanted: number, need: number): Use {
    return [this.#id, this.#limit, least, wanted, need];
  }

  get #id(): string {
    return (this.#ownId ??= this.#slots.newId());
  }

  get #need(): number {
    const { inFlight, waiting } = this.#pool;
    return Math.max(this.#refused, Math.min(inFlight + waiting, this.#limit));
  }

  /** Reports, and again if more is needed meanwhile, or others need what it does not use. */
  async #report(): Promise<void> {
    // Requests that arrived at the same time share a report.
    await new Promise<void>((resolve) => {
      clock.setImmediate(resolve);
    });
    while (this.#isShared && (await this.#exchange()));
    [this.#reporting, this.#refused] = [undefined, 0];
  }

  /** @returns whether to report again at once */
  async #exchange(): Promise<boolean> {
    const [pool, need, now] = [this.#pool, this.#need, clock.now()];
    this.#reported = need;
    const wanted = this.#shareOf(need);
    // What it had is that of others after a time without a report.
    if (this.#slots.isUp) pool.size = now - this.#reportedAt < EXPIRY_MS ? Math.min(pool.size, wanted) : 1;
    const least = Math.max(pool.size, pool.inFlight);
    const response = await this.#slots.report(this.#name, this.#use(least, wanted, need));
    if (!this.#isShared) return false;
    [this.#others, this.#reportedAt] = [response?.others ?? [], response === undefined ? -Infinity : now];
    const share = this.#shareOf(this.#need);
    if (response === undefined) {
      pool.size = this.#limit;
      return false;
    }
    // Polls are in flight without a slot. What they have counts for the others, and is no slot of later calls.
    pool.size = Math.min(response.held > least ? response.held : pool.size, share);
    return this.#need > this.#reported || Math.max(share, pool.inFlight) < response.held;
  }

  #shareOf(slots: number): number {
    return shareOf({ id: this.#id, slots }, this.#others, this.#limit);
  }
}

function needsIn(others: readonly string[]): Need[] {
  return others.flatMap((id, at) => (at % 2 === 0 ? [] : [{ id, slots: Number(others[at - 1]) }]));
}

/**
 * Slots for one gateway by what all need, at least one. What one needs less than an equal part is for the others; slots that no
 * gateway needs are divided, so that the next request need not wait.
 */
export function shareOf(own: Need, others: readonly Need[], limit: number): number {
  const spare = limit - own.slots - others.reduce((sum, { slots }) => sum + slots, 0);
  if (spare >= 0) return Math.max(1, own.slots + Math.floor(spare / (others.length + 1)));
  const sorted = [own, ...others].sort((one, other) => one.slots - other.slots || (one.id < other.id ? -1 : 1));
  let left = limit;
  for (const [index, each] of sorted.entries()) {
    const share = Math.min(each.slots, Math.floor(left / (sorted.length - index)));
    if (each === own) return Math.max(1, share);
    left -= share;
  }
  return 1;
}
