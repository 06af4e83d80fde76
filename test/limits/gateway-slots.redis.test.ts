import fc from 'fast-check';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { KeyAccounts, type KeyAccount } from '../../gateway/admission/key-accounts.ts';
import type { SlotLeases } from '../../gateway/admission/slot-lease.ts';
import { shareOf } from '../../gateway/limits/gateway-slots.ts';
import { clock } from '../../gateway/clock/clock.ts';
import { RedisSums } from '../../gateway/limits/redis-sums.ts';
import { RedisLink } from '../../gateway/redis/link.ts';
import { parseRedisUrl } from '../../gateway/redis/url.ts';
import { UpstreamLimits } from '../../gateway/upstreams/upstream-limits.ts';
import { MachineSlots } from '../../gateway/workers/machine-slots.ts';
import { WorkerSlots } from '../../gateway/workers/worker-slots.ts';
import { silent } from '../auth/auth-setup.ts';
import { startTcpProxy, type TcpProxy } from '../auth/tcp-proxy.ts';
import { addKey, postTo, readAt } from '../routing/two-keys.ts';
import { asUsual, type Exchange } from '../support/behaviours.ts';
import { installSystemClock } from '../support/elastic-clock.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { ownLimits } from '../support/own-limits.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { linkedWorkers } from '../workers/linked-workers.ts';

// Values expire by the time of Redis.
beforeAll(installSystemClock);

const LIMIT = 8;

/** Requests of one gateway. */
interface Requests {
  readonly inFlight: number;
  /** Begins a request, or one waits. */
  begin(): void;
  /** Ends one. */
  end(): void;
}

class KeyRequests implements Requests {
  readonly #accounts: readonly KeyAccount[];
  #turn = 0;

  /** @param workers the leases of each worker */
  constructor(workers: readonly SlotLeases[]) {
    this.#accounts = workers.map((leases) => new KeyAccounts(leases).of('a', 'a', LIMIT));
  }

  get inFlight(): number {
    return this.#accounts.reduce((sum, { requests }) => sum + requests.inFlight, 0);
  }

  begin(): void {
    const account = this.#accounts[this.#turn++ % this.#accounts.length] as KeyAccount;
    const { requests } = account;
    if (requests.waitersOf(account) >= LIMIT || requests.tryEnter(account)) return;
    // It is rejected after a second.
    requests.wait(account, Infinity, undefined).catch(() => undefined);
  }

  end(): void {
    const [first] = this.#accounts.toSorted((one, other) => other.requests.inFlight - one.requests.inFlight);
    first?.requests.leave(first);
  }
}

class UpstreamRequests implements Requests {
  readonly #limits: readonly UpstreamLimits[];
  readonly #sent: UpstreamLimits[] = [];
  #turn = 0;

  /** @param workers the leases of each worker */
  constructor(workers: readonly SlotLeases[]) {
    this.#limits = workers.map((leases) => new UpstreamLimits({ concurrency: LIMIT }, { ...ownLimits(), leases }));
  }

  get inFlight(): number {
    return this.#sent.length;
  }

  begin(): void {
    const limits = this.#limits[this.#turn++ % this.#limits.length] as UpstreamLimits;
    if (limits.mayAdmit()) void this.#send(limits);
  }

  end(): void {
    this.#sent.shift()?.endRequest();
  }

  async #send(limits: UpstreamLimits): Promise<void> {
    if (await limits.admit()) this.#sent.push(limits);
  }
}

/** Three gateways: two of one process, one of two workers. The first has a connection that can be cut. */
async function openGateways(): Promise<{ redis: RedisServer; proxy: TcpProxy; gateways: readonly SlotLeases[][] }> {
  const redis = await startRedis();
  const proxy = await startTcpProxy(redis.port);
  const links = [`redis://127.0.0.1:${proxy.port}`, redis.url, redis.url].map((url) => {
    const address = parseRedisUrl(url);
    return new RedisLink({ purpose: 'limits', address, log: silent, commandTimeoutMs: 5_000 });
  });
  onTestFinished(async () => {
    await Promise.all(links.map((link) => link.close()));
    await proxy.close();
    await redis.stop();
  });
  await Promise.all(links.map((link) => link.waitUntilUp(5_000)));
  const [one, two, three] = links.map((link) => new RedisSums(link, silent).slots);
  const { workers, links: workerLinks } = await linkedWorkers(2);
  new MachineSlots(workers.router, 2, three).serve();
  const ofWorkers = workerLinks.map((link) => new WorkerSlots(link, true));
  return { redis, proxy, gateways: [[one as SlotLeases], [two as SlotLeases], ofWorkers] };
}

const inFlight = (all: readonly Requests[]): number => all.reduce((sum, each) => sum + each.inFlight, 0);

/**
 * Whether this process has no CPU for so long during some work that its gateways may count as gone: the slots that they have are then
 * on top of the limit.
 */
async function stalls(work: () => Promise<void>): Promise<boolean> {
  let [longestMs, at] = [0, clock.now()];
  const note = (): void => {
    longestMs = Math.max(longestMs, clock.now() - at);
    at = clock.now();
  };
  const timer = clock.setInterval(note, 10);
  await work();
  clock.clearInterval(timer);
  note();
  return longestMs > 500;
}

/**
 * Floods gateways until the numbers of requests in flight, of 40 turns in a row, are as expected. One ends at each turn.
 * @param max of the requests in flight at any time
 */
async function flood(
  all: readonly Requests[],
  areAsExpected: (totals: readonly number[]) => boolean,
  max = Infinity,
): Promise<void> {
  await eventually(async () => {
    const totals: number[] = [];
    const isStalled = await stalls(async () => {
      for (let turn = 0; turn < 40; turn++) {
        for (const each of all) {
          for (let count = 0; count < LIMIT; count++) each.begin();
        }
        await scenarioPause(5);
        totals.push(inFlight(all));
        for (const each of all) if (each.inFlight > 0) each.end();
      }
    });
    if (!isStalled) expect(Math.max(...totals)).toBeLessThanOrEqual(max);
    return areAsExpected(totals);
  });
}

describe.each([
  ['a key', KeyRequests],
  ['an upstream', UpstreamRequests],
])('requests in flight of %s at three gateways', (_name, Each) => {
  it('are at most the limit and one for each other gateway, also after one is gone, and of each one without Redis', async () => {
    const { redis, proxy, gateways } = await openGateways();
    const all = gateways.map((workers) => new Each(workers));
    const others = all.slice(1);
    const isFair = (): boolean => all.every((each) => each.inFlight > 0);
    await flood(all, (totals) => Math.max(...totals) >= LIMIT && isFair(), LIMIT + 2);
    // What it has, the others have within a second.
    await proxy.cut();
    await flood(others, (totals) => Math.max(...totals) <= LIMIT + 1 && Math.min(...totals) >= LIMIT - 2);
    await redis.kill();
    await flood(others, () => others.every((each) => each.inFlight >= LIMIT - 1));
    await redis.restart();
    await flood(others, (totals) => Math.max(...totals) <= LIMIT + 1);
  });
});

it('a gateway without a second request in flight reports nothing, and has all slots of those that are idle', async () => {
  const { redis, gateways } = await openGateways();
  const [one, two] = gateways.map((workers) => new KeyRequests(workers)) as [KeyRequests, KeyRequests];
  const key = 'gatehouse:limit:slots:key:a';
  one.begin();
  await staysTrueFor(300, async () => (await redis.cli('EXISTS', key)) === '0');
  for (let count = 0; count < LIMIT; count++) one.begin();
  await eventually(() => one.inFlight === LIMIT);
  for (let count = 0; count < LIMIT; count++) one.end();
  for (let count = 0; count < LIMIT; count++) two.begin();
  await eventually(() => two.inFlight === LIMIT);
  for (let count = 0; count < LIMIT; count++) two.end();
  await eventually(async () => (await redis.cli('EXISTS', key)) === '0');
});

it.each([
  ['a key', { concurrency: '3' }, {}],
  ['an upstream', {}, { limits: { concurrency: 3 } }],
])('calls of %s in progress are those of all gateways', async (_name, ofKey, ofUpstream) => {
  const redis = await startRedis();
  onTestFinished(redis.stop);
  const node = await startFakeNode({ chainId: 7, responses: { eth_getStorageAt: `0x${'0'.repeat(64)}` } });
  const file = { ...network(7, []), upstreams: [{ name: 'node', url: node.url, batch: false, ...ofUpstream }] };
  const env = {
    REDIS_URL: redis.url,
    CALL_TIMEOUT_MS: '60000',
    UPSTREAM_TIMEOUT_MS: '60000',
    LIMITS_TIMEOUT_MS: '10000',
  };
  const gateways = await Promise.all([0, 1, 2].map(() => startGateway({ main: file }, env)));
  onTestFinished(async () => {
    for (const gateway of gateways) await gateway.stop();
    await node.close();
  });
  const [path] = (await addKey(gateways[0] as TestGateway, 'main', ofKey)).match(/\/main.*/) as RegExpExecArray;
  let sent = 0;
  let held: Exchange[] = [];
  const round = async (): Promise<void> => {
    held = [];
    node.always((exchange) => void held.push(exchange), 'eth_getStorageAt');
    let rejected = 0;
    const responses = Array.from({ length: 18 }, async (_, at) => {
      const url = `${(gateways[at % 3] as TestGateway).address}${path}`;
      const { status } = await postTo(url, readAt(sent++));
      if (status !== 200) rejected++;
    });
    await eventually(() => held.length + rejected === 18);
    for (const exchange of held) asUsual(exchange);
    await Promise.all(responses);
  };
  await eventually(async () => !(await stalls(round)));
  expect(held.length).toBeGreaterThanOrEqual(3);
  expect(held.length).toBeLessThanOrEqual(3 + 2);
});

it('a poll, which needs no slot, leaves no slot to later calls', async () => {
  const { gateways } = await openGateways();
  const [[one], [two]] = gateways as [[SlotLeases], [SlotLeases]];
  const full = { size: 0, inFlight: 2, waiting: 0 };
  const all = one.open('upstream:a', LIMIT, full);
  all.setLimit(LIMIT, true);
  await eventually(async () => {
    await all.requestMore();
    full.inFlight = full.size;
    return full.inFlight === LIMIT;
  });
  const withPoll = { size: 0, inFlight: 2, waiting: 0 };
  const other = two.open('upstream:a', LIMIT, withPoll);
  other.setLimit(LIMIT, true);
  await other.requestMore();
  expect(withPoll.size).toBe(1);
});

it('workers of one gateway have a changed limit together', async () => {
  const { gateways } = await openGateways();
  const [, , workers] = gateways as [SlotLeases[], SlotLeases[], SlotLeases[]];
  const keys = workers.map((leases) => new KeyAccounts(leases));
  let limit = 8 * LIMIT;
  const accounts = (): KeyAccount[] => keys.map((own) => own.of('a', 'a', limit));
  const begin = (count: number): void => {
    for (const account of accounts()) {
      for (let begun = 0; begun < count; begun++) {
        const { requests } = account;
        if (!requests.tryEnter(account)) requests.wait(account, Infinity, undefined).catch(() => undefined);
      }
    }
  };
  const end = (count: number): void => {
    for (const account of accounts()) {
      for (let left = Math.min(count, account.requests.inFlight); left > 0; left--) account.requests.leave(account);
    }
  };
  const total = (): number => accounts().reduce((sum, { requests }) => sum + requests.inFlight, 0);
  begin(limit / 2);
  await eventually(() => total() === limit);
  end(limit);
  await scenarioPause(20);
  limit = 6 * LIMIT;
  accounts();
  await scenarioPause(20);
  begin(15);
  // The slots that no worker uses are returned, and the lease of the former limit is renewed meanwhile.
  await scenarioPause(900);
  const totals: number[] = [];
  for (let round = 0; round < 10; round++) {
    begin(64);
    await scenarioPause(60);
    totals.push(total());
    end(1);
  }
  expect(Math.max(...totals)).toBeLessThanOrEqual(limit);
});

it('the shares of gateways are at most the limit together, but one for each', () => {
  const property = fc.property(
    fc.integer({ min: 1, max: 300 }),
    fc.array(fc.nat(400), { minLength: 1 }),
    (limit, all) => {
      const needs = all.map((slots, index) => ({ id: String(index), slots: Math.min(slots, limit) }));
      const shares = needs.map((need) =>
        shareOf(
          need,
          needs.filter((other) => other !== need),
          limit,
        ),
      );
      const sum = shares.reduce((total, share) => total + share, 0);
      expect(sum - shares.filter((share) => share === 1).length).toBeLessThanOrEqual(limit);
      // All slots are used if they are needed.
      const needed = needs.reduce((total, { slots }) => total + slots, 0);
      expect(sum).toBeGreaterThanOrEqual(Math.min(needed, limit));
    },
  );
  fc.assert(property);
});
