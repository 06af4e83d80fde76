import { beforeAll, beforeEach, afterAll, describe, expect, it } from 'vitest';
import { utcDate } from '../../gateway/limits/utc-date.ts';
import { withoutTimeBesideRedis } from '../support/elastic-clock.ts';
import { eventually } from '../support/eventually.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { shiftClock } from '../routing/with-nodes.ts';
import { estimate, limited, receipt, storage, type Limited, type Sent } from './limited.ts';

const rejected = (message: string, id: unknown = 1): object => ({
  jsonrpc: '2.0',
  id,
  error: { code: -32005, message },
});
let redis: RedisServer;
const tooFast = 'project ID request rate exceeded';

const commands = async (name: string): Promise<number> =>
  Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(await redis.cli('INFO', 'commandstats'))?.[1] ?? 0);

const rateHeaders = ({ headers }: Sent): (string | null)[] =>
  ['limit', 'remaining', 'reset'].map((name) => headers.get(`ratelimit-${name}`));

/** The numbers of seconds that a header may have since `startedAt`. Redis has its own clock, which the test cannot stop. */
function secondsFrom(startedAt: number, seconds: number): string[] {
  const elapsedS = Math.ceil((Date.now() - startedAt) / 1_000);
  return Array.from({ length: elapsedS + 1 }, (_, less) => String(seconds - less));
}

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

describe.each(['redis', 'memory'])('limits, counted in %s', (kind) => {
  let one: Limited;
  let startedAt: number;
  let clock: { forward(ms: number): void } | undefined;
  /** Expects a wait from the first call on: exactly if it is counted in memory, where the clock stands still. */
  const expectWait = (header: string | null | undefined, seconds: number): void => {
    expect(kind === 'memory' ? [String(seconds)] : secondsFrom(startedAt, seconds)).toContain(header);
  };
  beforeEach(async () => {
    clock = kind === 'memory' ? shiftClock() : undefined;
    startedAt = Date.now();
    one = await limited(kind === 'redis' ? { REDIS_URL: redis.url } : {});
  });

  it('serve the burst, reject later calls, and have headers that a page can read', async () => {
    // A unit returns after 1,000 s, so that none returns during the test.
    await one.setPermissions({ rate: '0.001', burst: '3' });
    const first = await one.send(storage);
    expect([first.status, ...rateHeaders(first).slice(0, 2)]).toEqual([200, '3', '2']);
    expectWait(rateHeaders(first)[2], 1_000);
    for (let count = 0; count < 2; count++) expect((await one.send(storage)).status).toBe(200);
    const over = await one.send(storage);
    expect(over.status).toBe(429);
    expect(over.body).toEqual(rejected(tooFast));
    expect(rateHeaders(over).slice(0, 2)).toEqual(['3', '0']);
    expectWait(rateHeaders(over)[2], 3_000);
    expectWait(over.headers.get('retry-after'), 1_000);
    expect(over.headers.get('access-control-expose-headers')).toContain('RateLimit-Remaining');
    expect(one.reached()).toBe(3);
  });

  it('recover over time, and Retry-After has two digits', async () => {
    await one.setPermissions({ rate: '1', burst: '1' });
    let over = await one.send(storage);
    // On a slow machine a second may pass between two calls.
    await eventually(async () => (over = await one.send(storage)).status === 429);
    expect(over.headers.get('retry-after')).toBe('01');
    clock?.forward(1_000);
    await eventually(async () => (await one.send(storage)).status === 200);
  });

  it('count request units, and a tenth of one for what Gatehouse answers or rejects by itself', async () => {
    await one.setPermissions({ rate: '0.01', burst: '4', daily: '1000' });
    expect(rateHeaders(await one.send(estimate))[1]).toBe('2');
    const own = [['eth_chainId'], ['rpc.discover'], ['no_such'], ['eth_getStorageAt', [1]], ['eth_call', {}]] as const;
    for (let round = 0; round < 2; round++) {
      for (const call of own) expect(rateHeaders(await one.send(call))[1]).toMatch(/^[01]$/);
    }
    // Ten tenths.
    const [limit, remaining] = rateHeaders(await one.send(storage));
    expect([limit, remaining]).toEqual(['4', '0']);
    expect((await one.send(['eth_chainId'])).status).toBe(429);
    expect(one.reached()).toBe(2);
  });

  it('charge a batch as a whole, or reject it as a whole with an error for each id', async () => {
    await one.setPermissions({ rate: '0.01', burst: '5' });
    const passed = await one.batch([storage, estimate]);
    expect([passed.status, ...rateHeaders(passed).slice(0, 2)]).toEqual([200, '5', '2']);
    expectWait(rateHeaders(passed)[2], 300);
    // Charged twice, sent once.
    expect((await one.batch([storage, storage])).status).toBe(200);
    const over = await one.batch([storage, ['eth_chainId'], storage, storage]);
    expect(over.status).toBe(429);
    expectWait(over.headers.get('retry-after'), 100);
    expect(over.body).toEqual([0, 1, 2, 3].map((id) => rejected(tooFast, id)));
    expect(one.reached()).toBe(3);
  });

  it('serve a batch above the burst, and then nothing until its debt is repaid', async () => {
    await one.setPermissions({ rate: '0.01', burst: '2' });
    const dear = await one.batch([storage, estimate, estimate, estimate]);
    expect([dear.status, ...rateHeaders(dear).slice(0, 2)]).toEqual([200, '2', '0']);
    expectWait(rateHeaders(dear)[2], 700);
    const over = await one.send(storage);
    expect([over.status, ...rateHeaders(over).slice(0, 2)]).toEqual([429, '2', '0']);
    // 7 units are missing. A call is served when the bucket has one of two.
    expectWait(over.headers.get('retry-after'), 600);
    expectWait(rateHeaders(over)[2], 700);
    clock?.forward(599_000);
    expect((await one.send(storage)).status).toBe(429);
    clock?.forward(1_000);
    if (kind === 'memory') expect((await one.send(storage)).status).toBe(200);
  });

  it('never exceed a quota, not even by one charge', async () => {
    await one.setPermissions({ daily: '3' });
    const over = await one.batch([estimate, estimate]);
    const quota = 'daily request count exceeded, request rate limited';
    const message = `${quota}: the request costs 4 units, and the limit is 3`;
    expect([over.status, over.headers.get('retry-after')]).toEqual([429, null]);
    expect(over.body).toEqual([0, 1].map((id) => rejected(message, id)));
    expect((await one.send(storage)).status).toBe(200);
    const dear = await one.batch([storage, estimate]);
    expect([dear.status, ...rateHeaders(dear).slice(0, 2)]).toEqual([429, '3', '2']);
    expect(dear.headers.get('retry-after')).not.toBeNull();
    expect(dear.body).toEqual(
      [0, 1].map((id) => rejected(`${quota}: the request costs 3 units, and 2 of 3 remain`, id)),
    );
    expect((await one.send(estimate)).status).toBe(200);
    expect((await one.send(storage)).body).toEqual(rejected(quota));
  });

  it('have headers of the limit of those that a request counts for that is closest to its end', async () => {
    await one.setPermissions({ methodRates: 'eth_getStorageAt=0.01/3, eth_estimateGas=0.01/9' });
    const headersOf = async (sent: Promise<Sent>) => rateHeaders(await sent).slice(0, 2);
    expect(await headersOf(one.send(receipt))).toEqual([null, null]);
    expect(await headersOf(one.send(estimate))).toEqual(['9', '7']);
    expect(await headersOf(one.send(storage))).toEqual(['3', '2']);
    expect(await headersOf(one.batch([storage, estimate]))).toEqual(['3', '1']);
    expect(await headersOf(one.send(storage))).toEqual(['3', '0']);
    const over = await one.send(storage);
    expect([over.status, ...rateHeaders(over).slice(0, 2)]).toEqual([429, '3', '0']);
    // A rejection has those of the limit that rejects: the rate of the key has no unit either.
    await one.setPermissions({ rate: '0.02', burst: '1', daily: '100' });
    expect((await one.send(receipt)).status).toBe(200);
    expect(await headersOf(one.send(receipt))).toEqual(['1', '0']);
    await one.setPermissions({ daily: '2' });
    expect(await headersOf(one.send(receipt))).toEqual(['2', '0']);
  });

  it('apply to single methods besides the key', async () => {
    await one.setPermissions({
      methodRates: 'eth_getStorageAt=0.01/1, eth_estimateGas=0.01/2',
      rate: '0.01',
      burst: '5',
    });
    expect((await one.send(storage)).status).toBe(200);
    expect((await one.send(storage)).status).toBe(429);
    expect((await one.send(estimate)).status).toBe(200);
    expect((await one.batch([receipt, estimate])).status).toBe(429);
    expect((await one.batch([receipt, receipt])).status).toBe(200);
    expect((await one.send(receipt)).status).toBe(429);
    // A method in debt does not reject others.
    await one.setPermissions({ methodRates: 'eth_getTransactionReceipt=0.01/1', rate: '100', burst: '100' });
    expect((await one.batch([receipt, receipt])).status).toBe(200);
    expect((await one.send(receipt)).status).toBe(429);
    expect((await one.send(estimate)).status).toBe(200);
  });

  it.each([
    ['daily', 'daily request count exceeded, request rate limited', 86_400],
    ['monthly', 'monthly request count exceeded, request rate limited', 31 * 86_400],
  ])('enforce a %s quota', async (quota, message, longest) => {
    await one.setPermissions({ [quota]: '3' });
    const first = await one.batch([storage, storage]);
    expect(rateHeaders(first).slice(0, 2)).toEqual(['3', '1']);
    const over = await one.send(estimate);
    expect([over.status, over.body]).toEqual([
      429,
      rejected(`${message}: the request costs 2 units, and 1 of 3 remain`),
    ]);
    expect((await one.send(storage)).status).toBe(200);
    const wait = Number((await one.send(storage)).headers.get('retry-after'));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(longest);
  });

  it('name the wait for the last quota that is used up', async () => {
    await one.setPermissions({ daily: '1', monthly: '1' });
    expect((await one.send(storage)).status).toBe(200);
    const wait = Number((await one.send(storage)).headers.get('retry-after'));
    expect(Math.abs(wait - utcDate().monthEndsInS)).toBeLessThan(60);
  });

  it('change at once with the key', async () => {
    await one.setPermissions({ rate: '0.01', burst: '1' });
    expect((await one.send(storage)).status).toBe(200);
    expect((await one.send(storage)).status).toBe(429);
    await one.setPermissions({ rate: undefined, burst: undefined });
    const free = await one.send(storage);
    expect([free.status, ...rateHeaders(free)]).toEqual([200, null, null, null]);
  });

  it('that are raised do not wait for the lower rate', async () => {
    await one.setPermissions({ rate: '0.001', burst: '1' });
    expect((await one.send(storage)).status).toBe(200);
    expectWait((await one.send(storage)).headers.get('retry-after'), 1_000);
    await one.setPermissions({ rate: '20', burst: '1' });
    await eventually(async () => {
      clock?.forward(50);
      return (await one.send(storage)).status === 200;
    });
  });

  it('on sockets and subscriptions do not charge calls', async () => {
    await one.setPermissions({ sockets: '1', subscriptions: '5' });
    const before = one.gateway.gateway.keys.kind === 'redis' ? await commands('evalsha') : 0;
    const sent = await one.send(storage);
    expect([sent.status, ...rateHeaders(sent)]).toEqual([200, null, null, null]);
    if (kind === 'redis') expect(await commands('evalsha')).toBe(before);
  });
});

describe('limits in Redis', () => {
  const hashOf = async ({ id }: Limited): Promise<Record<string, string>> => {
    const lines = (await redis.cli('HGETALL', `gatehouse:limit:${id}`)).split('\n');
    return Object.fromEntries(lines.flatMap((line, at) => (at % 2 === 0 ? [[line, lines[at + 1] ?? '']] : [])));
  };
  it('cost one round trip for a whole batch, and none for a key without limits', async () => {
    const one = await limited({ REDIS_URL: redis.url });
    await one.send(storage);
    await one.setPermissions({ origins: 'app.example.org' });
    await one.send(storage, { origin: 'https://app.example.org' });
    const before = await commands('evalsha');
    await one.send(storage, { origin: 'https://app.example.org' });
    expect(await commands('evalsha')).toBe(before);

    await one.setPermissions({ origins: undefined, rate: '1000', daily: '1000', methodRates: 'eth_estimateGas=1000' });
    await one.send(storage);
    const between = await commands('evalsha');
    await one.batch(Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? storage : estimate)));
    expect(await commands('evalsha')).toBe(between + 1);
    // Each of the two different calls of the batch was sent once.
    expect(one.reached()).toBe(6);
  });

  it('cost fewer round trips than concurrent calls', async () => {
    const one = await limited({ REDIS_URL: redis.url });
    await one.setPermissions({ rate: '10000' });
    // This round opens the connections.
    await Promise.all(Array.from({ length: 50 }, () => one.send(storage)));
    const before = await commands('evalsha');
    // Without the exchanges at intervals, whose number depends on how long the calls take.
    await withoutTimeBesideRedis(async () => {
      for (let round = 0; round < 10; round++) {
        const sent = await Promise.all(Array.from({ length: 50 }, () => one.send(storage)));
        expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([200]));
      }
    });
    expect((await commands('evalsha')) - before).toBeLessThan(250);
    // What the gateway has counted by itself is exchanged.
    await eventually(async () => (await hashOf(one))['dayUsed'] === '550');
  });

  it('can be read and reset by redis-cli, and reset with the day', async () => {
    const one = await limited({ REDIS_URL: redis.url });
    await one.setPermissions({ rate: '0.01', burst: '2', methodRates: 'eth_estimateGas=1', daily: '2' });
    const begunAt = Date.now();
    await one.send(storage);
    await one.send(storage);
    const today = new Date().toISOString().slice(0, 10);
    const hash = await hashOf(one);
    expect(hash).toMatchObject({ day: today, dayUsed: '2', month: today.slice(0, 7), monthUsed: '2' });
    expect(Number(hash['missing'])).toBeGreaterThan(1.9);
    expect(Number(hash['missingAt'])).toBeGreaterThanOrEqual(begunAt);
    expect((await one.send(storage)).status).toBe(429);

    // As after Redis' clock was set back by a day: the wait is at most the time of a burst, 200 s.
    await redis.cli('HSET', `gatehouse:limit:${one.id}`, 'missingAt', String(Date.now() + 86_400_000), 'dayUsed', '0');
    await eventually(async () => (await one.send(storage)).headers.get('retry-after') === '100');

    await redis.cli('DEL', `gatehouse:limit:${one.id}`);
    await eventually(async () => (await one.send(storage)).status === 200);

    await redis.cli('HSET', `gatehouse:limit:${one.id}`, 'day', '2020-01-01', 'dayUsed', '2', 'missing', '0');
    expect((await one.send(storage)).status).toBe(200);
    expect(await hashOf(one)).toMatchObject({ day: today, dayUsed: '1' });
  });

  it('are shared by two gateways, and by a key and its rotated successor', async () => {
    const one = await limited({ REDIS_URL: redis.url });
    const two = await limited({ REDIS_URL: redis.url });
    await one.setPermissions({ rate: '0.01', burst: '4' });
    await two.setPermissions({ rate: '0.01', burst: '4', account: one.id });
    const statuses: number[] = [];
    for (let count = 0; count < 4; count++) {
      statuses.push((await one.send(storage)).status, (await two.send(storage)).status);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429, 429, 429]);
  });
});
