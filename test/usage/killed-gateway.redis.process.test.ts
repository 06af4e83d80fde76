import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { digestOf, keyIdOf } from '../../gateway/auth/formats/key.ts';
import { Workplace } from '../e2e/gateway-process.ts';
import { storage } from '../limits/limited.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network } from '../support/gateway.ts';
import { startRedis } from '../support/redis.ts';

it.each(['file', 'redis'])(
  'usage, stored in %s, has all but the last second of a gateway that is killed',
  async (kind) => {
    const redis = kind === 'redis' ? await startRedis() : undefined;
    const node = await startFakeNode({ chainId: 7, responses: { eth_getStorageAt: `0x${'0'.repeat(64)}` } });
    const place = new Workplace().withNetworks({ test: network(7, [node.url]) });
    onTestFinished(async () => {
      await Promise.all([place.close(), node.close(), redis?.stop()]);
    });
    const key = await place.addKey({ redisUrl: redis?.url });
    const env = { ...(redis !== undefined && { REDIS_URL: redis.url }) };
    const gateway = await place.start(env);
    const [method, params] = storage;
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const send = async (): Promise<number> =>
      (await fetch(`${gateway.address}/test/v3/${key}`, { method: 'POST', body })).status;
    await eventually(async () => (await send()) === 200);
    for (let time = 0; time < 9; time += 1) expect(await send()).toBe(200);
    const rows = async (): Promise<{ units: number }[]> => {
      const settings = { ...env, DATA_DIR: join(place.folder, '.gatehouse') };
      const { stdout } = await place.run(['keys', 'usage', keyIdOf(digestOf(key)), '--json'], settings);
      return JSON.parse(stdout) as { units: number }[];
    };
    // The calls until now are stored within about a second; the gateway stores no more when it is killed.
    await eventually(async () => (await rows())[0]?.units === 10);
    gateway.signal('SIGKILL');
    await gateway.ended;
    expect(await rows()).toMatchObject([{ method, units: 10, errors: 0 }]);
  },
);
