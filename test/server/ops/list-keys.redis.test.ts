import { describe, expect, it, onTestFinished } from 'vitest';
import { digestOf } from '../../../gateway/auth/formats/key.ts';
import { keyRecord, type KeyRecord, type StoredKey } from '../../../gateway/auth/stores/key-store.ts';
import { listKeys, type ListQuery } from '../../../gateway/server/ops/list-keys.ts';
import { eventually } from '../../support/eventually.ts';
import { startRedis } from '../../support/redis.ts';
import { adminToken, appKeys, startKeysGateway, type KeysGateway } from '../../pages/keys-gateway.ts';
import { noPlans } from '../../support/no-plans.ts';

/** The defaults of the document of the admin API. */
const defaults = { sort: 'created', offset: 0 };
const records = (keys: readonly StoredKey[]): KeyRecord[] =>
  keys.map((key, index) => keyRecord(digestOf(String(index)), key));
const namesOf = async (keys: readonly StoredKey[], query: Partial<ListQuery>): Promise<string[]> =>
  (await listKeys(records(keys), { ...defaults, ...query }, noPlans)).keys.map(({ record }) => record.name);

const day = (date: number): string => new Date(Date.UTC(2026, 0, date)).toISOString();
const some: StoredKey[] = [
  { name: 'Zoë', createdAt: day(3), permissions: { team: 'acme' } },
  { name: 'bob', createdAt: day(1), permissions: { expiresAt: day(2) } },
  { name: 'Alice', createdAt: day(2), permissions: { rate: 'fast' } },
  { name: 'carol', createdAt: day(4), revokedAt: day(5) },
  { name: 'dev', createdAt: day(5), development: true },
];

describe('a listing', () => {
  it.each([
    [{}, ['bob', 'Alice', 'Zoë', 'carol', 'dev']],
    [{ sort: '-created' }, ['dev', 'carol', 'Zoë', 'Alice', 'bob']],
    [{ sort: 'name' }, ['Alice', 'bob', 'carol', 'dev', 'Zoë']],
    [{ sort: '-team' }, ['Zoë', 'dev', 'carol', 'Alice', 'bob']],
    [{ sort: 'state' }, ['Zoë', 'dev', 'bob', 'Alice', 'carol']],
    [{ sort: 'name', offset: 1, limit: 2 }, ['bob', 'carol']],
    [{ offset: 9 }, []],
    [{ search: ' ALICE ' }, ['Alice']],
    [{ search: 'acme zo' }, ['Zoë']],
    [{ search: 'revoked' }, ['carol']],
    [{ search: 'invalid' }, ['Alice']],
    [{ search: 'zo bob' }, []],
  ])('by %j has %j', async (query, names) => {
    expect(await namesOf(some, query)).toEqual(names);
  });

  it('counts all keys, those that match, and those that are active', async () => {
    const { matching, total, active } = await listKeys(records(some), { ...defaults, search: 'o', limit: 1 }, noPlans);
    expect({ matching, total, active }).toEqual({ matching: 4, total: 5, active: 1 });
  });

  it('of 10,000 keys lets other work run', async () => {
    const keys = records(appKeys(10_000));
    const turns = { count: 0, isOver: false };
    const turn = (): void => {
      turns.count++;
      if (!turns.isOver) setImmediate(turn);
    };
    setImmediate(turn);
    const { keys: shown, matching } = await listKeys(
      keys,
      { ...defaults, search: 'app', sort: '-name', limit: 50 },
      noPlans,
    );
    turns.isOver = true;
    expect([shown[0]?.record.name, shown.length, matching]).toEqual(['app-9999', 50, 10_000]);
    // Each turn of the event loop has a slice of 1 ms.
    expect(turns.count).toBeGreaterThan(3);
  });
});

it('GET /admin/keys has the keys without usage while usage cannot be read', async () => {
  const redis = await startRedis();
  onTestFinished(redis.stop);
  await redis.cli('ACL', 'SETUSER', 'gateway', 'on', '>pass', '~*', '&*', '+@all');
  const own = await startKeysGateway({ REDIS_URL: redis.url.replace('//', '//gateway:pass@') });
  onTestFinished(own.stop);
  await own.add(appKeys(9));
  await redis.cli('ACL', 'SETUSER', 'gateway', 'resetkeys', '~gatehouse:key', '~gatehouse:limit:*');
  const headers = { authorization: `Bearer ${adminToken}` };
  const response = await fetch(`${own.ops}/admin/keys?limit=100&days=1`, { headers });
  const { keys, total } = (await response.json()) as { keys: object[]; total: number };
  expect([response.status, keys.length, total]).toEqual([200, 10, 10]);
  expect(keys.filter((key) => 'usage' in key)).toEqual([]);
});

describe.each(['file', 'redis'])('GET /admin/keys, with keys in %s', (kind) => {
  async function open(): Promise<KeysGateway> {
    const redis = kind === 'redis' ? await startRedis() : undefined;
    const own = await startKeysGateway(redis === undefined ? {} : { REDIS_URL: redis.url });
    onTestFinished(async () => {
      await own.stop();
      await redis?.stop();
    });
    return own;
  }

  it('has a part of 10,000 keys, with their usage', async () => {
    const own = await open();
    await own.add(appKeys(9_999));
    const path = '/admin/keys?search=app-00&sort=-name&offset=10&limit=2&days=7';
    let response = await get(own, path);
    // On a loaded machine, Redis may take longer than a command may.
    await eventually(async () => response.status === 200 || (response = await get(own, path)).status === 200);
    const usage = { calls: 0, units: 0, errors: 0, bytes: 0 };
    expect(response.body).toMatchObject({
      keys: [
        { name: 'app-0089', state: 'active', usage },
        { name: 'app-0088', state: 'active', usage },
      ],
      ...{ matching: 100, total: 10_000, active: 10_000 },
    });
  });

  it('has the usage of several days in one sum', async () => {
    const own = await open();
    for (let calls = 0; calls < 3; calls++) await own.gateway.call('five', 'eth_blockNumber');
    // Usage is written each second.
    await eventually(async () => {
      const { body } = await get(own, '/admin/keys?limit=100&days=2');
      const [{ name, usage } = {}] = (body as { keys: { name?: string; usage?: { calls: number } }[] }).keys;
      return name === 'test' && usage?.calls === 3;
    }, 30_000);
    expect((await get(own, '/admin/keys?limit=100')).body).toMatchObject({ keys: [{ name: 'test' }] });
  });
});

it('GET /admin/keys rejects invalid parameters, and names each', async () => {
  const own = await startKeysGateway();
  onTestFinished(own.stop);
  const orders = 'created, name, team, state, use, or one of them after -';
  for (const [query, field, expected] of [
    ['sort=age', 'sort', orders],
    ['sort=name&sort=team', 'sort', orders],
    [`search=${'x'.repeat(201)}`, 'search', 'text of at most 200 characters'],
    ['offset=-1', 'offset', 'a whole number from 0 to 1000000000'],
    ['limit=0', 'limit', 'a whole number from 1 to 1000'],
    ['limit=1001', 'limit', 'a whole number from 1 to 1000'],
    ['offset=0x1', 'offset', 'a whole number from 0 to 1000000000'],
    ['limit=50&days=91', 'days', 'a whole number from 1 to 90'],
    // The usage of all keys would be thousands of reads.
    ['days=7', 'limit', 'a whole number from 1 to 100'],
    ['limit=101&days=7', 'limit', 'a whole number from 1 to 100'],
  ] as const) {
    const { status, body } = await get(own, `/admin/keys?${query}`);
    expect([query, status, body]).toEqual([
      query,
      400,
      { error: { field, message: `${field}: expected ${expected}` } },
    ]);
  }
});

it('GET /admin/networks has what a client needs to connect', async () => {
  const own = await startKeysGateway();
  onTestFinished(own.stop);
  const currency = expect.objectContaining({ decimals: 18 }) as object;
  expect((await get(own, '/admin/networks')).body).toEqual({
    networks: [expect.objectContaining({ slug: 'five', name: 'Five', chainId: 5, currency, baseUrls: [] })],
    port: own.gateway.gateway.port,
  });
});

async function get({ ops }: KeysGateway, path: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(ops + path, { headers: { authorization: `Bearer ${adminToken}` } });
  return { status: response.status, body: await response.json() };
}
