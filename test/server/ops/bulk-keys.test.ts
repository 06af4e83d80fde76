import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { clock } from '../../../gateway/clock/clock.ts';
import { digestOf } from '../../../gateway/auth/formats/key.ts';
import { keyRecord } from '../../../gateway/auth/stores/key-store.ts';
import { listKeys } from '../../../gateway/server/ops/list-keys.ts';
import { shownKeys } from '../../../gateway/server/ops/shown-keys.ts';
import { dayOf } from '../../../gateway/usage/usage-store.ts';
import { elasticClock } from '../../support/elastic-clock.ts';
import { openUsage } from '../../usage/open-usage.ts';
import { adminToken, appKeys, startKeysGateway, type KeysGateway } from '../../pages/keys-gateway.ts';
import { noPlans } from '../../support/no-plans.ts';

let own: KeysGateway;
beforeEach(async () => {
  own = await startKeysGateway();
  await own.add(appKeys(99));
  return own.stop;
});

async function send(verb: string, path: string, body?: object): Promise<{ status: number; body: unknown }> {
  const headers = { authorization: `Bearer ${adminToken}` };
  const init = { method: verb, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const response = await fetch(`${own.ops}/admin${path}`, init);
  return { status: response.status, body: await response.json() };
}

it('POST /admin/keys/revoke revokes keys, and names each that it cannot revoke', async () => {
  const { keys } = own.gateway.gateway;
  const ids = [...(await keys.entries()).values()].slice(0, 50).map(({ id }) => id);
  const { status, body } = await send('POST', '/keys/revoke', { ids: ['0123456789ab', ...ids] });
  expect([status, body]).toEqual([
    200,
    {
      revoked: ids.map((id) => expect.objectContaining({ id, state: 'revoked' }) as unknown),
      failed: [{ id: '0123456789ab', message: 'There is no key with the id 0123456789ab' }],
    },
  ]);

  const expected = 'expected a list of 1 to 100 key ids';
  for (const given of [[], Array.from({ length: 101 }, () => ids[0])]) {
    const message = { error: { field: 'ids', message: `ids: ${expected}` } };
    expect(await send('POST', '/keys/revoke', { ids: given })).toEqual({ status: 400, body: message });
  }
  expect((await send('POST', '/keys/revoke', { ids: ['all'] })).body).toMatchObject({ error: { field: 'ids.0' } });
});

/** Turns of the event loop while the work runs. Each reading of the clock takes 0.03 ms, on any machine. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let now = clock.now();
  const reading = vi.spyOn(clock, 'now').mockImplementation(() => (now += 0.03));
  const turns = { count: 0, isOver: false };
  const turn = (): void => {
    turns.count++;
    if (!turns.isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  turns.isOver = true;
  reading.mockRestore();
  // Time never goes back.
  await elasticClock().advance(Math.max(0, now - clock.now()));
  return turns.count;
}

it('the records of 10,000 listed keys are made in time slices', async () => {
  const records = appKeys(10_000).map((key, index) => keyRecord(digestOf(String(index)), key));
  const { keys } = await listKeys(records, { sort: 'created', offset: 0 }, noPlans);
  expect(await turnsDuring(() => shownKeys(keys, noPlans, undefined))).toBeGreaterThan(3);
});

it('the usage of 100 keys is the sum of their own lines, and is read in time slices', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-usage-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const [today, yesterday] = [dayOf(Date.now()), dayOf(Date.now() - 86_400_000)];
  const ids = Array.from({ length: 1_000 }, (_, index) => digestOf(String(index)).slice(0, 12));
  const amounts = ['a', 'b', 'c'].map((method) => ({
    place: `five ${method}`,
    calls: 1,
    units: 2,
    errors: 3,
    bytes: 4,
  }));
  const store = await openUsage({ REDIS_URL: undefined, DATA_DIR: folder });
  await store.add([today, yesterday].flatMap((day) => ids.map((key) => ({ key, day, number: 1, amounts }))));
  const some = [...ids.slice(0, 99), 'ffffffffffff'];
  let sums: unknown;
  expect(await turnsDuring(async () => (sums = await store.sum(some, [yesterday, today])))).toBeGreaterThan(3);
  const each = { calls: 6, units: 12, errors: 18, bytes: 24, lastDay: today };
  expect(sums).toEqual([...Array.from({ length: 99 }, () => each), { calls: 0, units: 0, errors: 0, bytes: 0 }]);
});
