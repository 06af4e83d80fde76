import { describe, expect, it, onTestFinished } from 'vitest';
import { digestOf, keyIdOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { dayOf, type UsageRow } from '../../gateway/usage/usage-store.ts';
import { eventually } from '../support/eventually.ts';
import { estimate, limited, storage, type Limited } from '../limits/limited.ts';
import { runKeys } from '../auth/run-keys.ts';
import { startRedis } from '../support/redis.ts';

const token = 'correct-horse-battery';

describe.each(['file', 'redis'])('the usage of a team, stored in %s', (kind) => {
  let own: Limited;
  let url: string | undefined;

  async function start(): Promise<void> {
    const redis = kind === 'redis' ? await startRedis() : undefined;
    if (redis !== undefined) onTestFinished(redis.stop);
    url = redis?.url;
    own = await limited({ OPS_PORT: '0', ADMIN_TOKEN: token, ...(url !== undefined && { REDIS_URL: url }) });
  }

  async function addKey(permissions: Record<string, string> = {}) {
    const key = makeKey();
    const id = keyIdOf(digestOf(key));
    await own.gateway.gateway.keys.add(digestOf(key), {
      name: 'a',
      createdAt: '2026-01-02T03:04:05.678Z',
      permissions,
    });
    const send = async ([method, params]: readonly [string, unknown?], times: number): Promise<void> => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      for (let count = 0; count < times; count++) {
        await (await fetch(`${own.gateway.address}/test/v3/${key}`, { method: 'POST', body })).text();
      }
    };
    return { id, send };
  }

  async function printUsage(account: string, ...args: string[]): Promise<string> {
    const settings = { REDIS_URL: url, DATA_DIR: own.gateway.dataDir };
    const { out, err } = await runKeys(settings, ['usage', account, ...args]);
    return out + err;
  }

  async function fetchUsage(account: string): Promise<{ status: number; body: { keys?: string[]; usage?: unknown } }> {
    const address = `http://127.0.0.1:${own.gateway.gateway.opsPort ?? 0}/admin/keys/${account}/usage`;
    const response = await fetch(address, { headers: { authorization: `Bearer ${token}` } });
    return { status: response.status, body: (await response.json()) as { keys?: string[]; usage?: unknown } };
  }

  it('is the sum of its keys, also of those that are revoked', async () => {
    await start();
    const first = await addKey({ team: 'acme' });
    const second = await addKey({ team: 'acme' });
    const others = [await addKey({ team: 'acme-2' }), await addKey()];
    await first.send(storage, 3);
    await second.send(storage, 2);
    await second.send(estimate, 1);
    for (const other of others) await other.send(storage, 1);
    await own.gateway.gateway.keys.revoke(second.id);
    const rows = async (account: string) => JSON.parse(await printUsage(account, '--json')) as UsageRow[];
    await eventually(async () => (await rows('team:acme')).reduce((sum, { calls }) => sum + calls, 0) === 6);
    const expected = [
      { day: dayOf(Date.now()), network: 'test', method: 'eth_estimateGas', calls: 1, units: 2, errors: 0 },
      { day: dayOf(Date.now()), network: 'test', method: 'eth_getStorageAt', calls: 5, units: 5, errors: 0 },
    ];
    expect(await rows('team:acme')).toMatchObject(expected);
    const [estimates, reads] = await rows('team:acme');
    const bytesOf = async (id: string) =>
      (await rows(id)).find(({ method }) => method === 'eth_getStorageAt')?.bytes ?? 0;
    expect(reads?.bytes).toBe((await bytesOf(first.id)) + (await bytesOf(second.id)));
    const { status, body } = await fetchUsage('team:acme');
    expect([status, body.usage]).toEqual([200, [estimates, reads]]);
    expect(body.keys?.toSorted()).toEqual([first.id, second.id].toSorted());
    // Its calls may be a second later than those of the others in the store.
    await eventually(async () => (await rows('team:acme-2')).length > 0);
    expect(await rows('team:acme-2')).toMatchObject([{ calls: 1 }]);
  });

  it('of a team without keys is an error', async () => {
    await start();
    await addKey({ team: 'acme' });
    expect(await printUsage('team:acme')).toBe('No usage yet.\n');
    expect(await printUsage('team:none')).toBe('There is no key of this team: see gatehouse keys show\n');
    expect(await fetchUsage('team:none')).toEqual({
      status: 404,
      body: { error: { message: 'There is no key of this team' } },
    });
  });
});
