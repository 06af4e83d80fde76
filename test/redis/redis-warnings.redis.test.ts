import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { openKeys } from '../support/open-keys.ts';
import { eventually } from '../support/eventually.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { simulateTime } from '../support/simulate-time.ts';

const time = simulateTime();

async function start(args: readonly string[] = []): Promise<RedisServer> {
  const redis = await startRedis({ args });
  onTestFinished(redis.stop);
  return redis;
}

it('the warning comes each minute while Redis is a replica or unreachable', async () => {
  const primary = await start();
  const replica = await start(['--replicaof', `127.0.0.1 ${primary.port}`]);
  const warnings: { readonly at: number; readonly text: string }[] = [];
  const log = pino({ base: null }, { write: (text) => void warnings.push({ at: clock.now(), text }) });
  const store = openKeys({ REDIS_URL: replica.url }, log);
  const untilWarned = async (count: number, error: string): Promise<void> => {
    const found = (): typeof warnings =>
      warnings.filter(({ text }) => text.includes('"connection":"store"') && text.includes(`"error":"${error}"`));
    await eventually(async () => {
      // A heartbeat at a time, each of which the replica has responded to before the time of its command is over.
      for (let step = 0; step < 20; step++) {
        await time().advance(250);
        await replica.cli('PING').catch(() => undefined);
      }
      return found().length >= count;
    });
    const times = found().map(({ at }) => at);
    for (const [index, at] of times.slice(1).entries()) expect(at - (times[index] ?? 0)).toBeGreaterThanOrEqual(60_000);
  };
  await untilWarned(3, 'READONLY');
  await replica.kill();
  await untilWarned(2, 'ECONNREFUSED');
  await store.close();
});

it('a connection that Redis ends without an error has a cause of its own, not that of an earlier outage', async () => {
  const redis = await start();
  const causes: unknown[] = [];
  const log = pino(
    { base: null },
    { write: (text) => void causes.push((JSON.parse(text) as { error?: string }).error) },
  );
  const { store, close } = openKeys({ REDIS_URL: redis.url }, log);
  onTestFinished(close);
  await store.waitUntilReady(20_000);
  await redis.kill();
  await eventually(() => causes.filter((cause) => cause !== undefined).length > 0);
  expect(causes.find((cause) => cause !== undefined)).toBe('ECONNRESET');
});
