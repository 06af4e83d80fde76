import { expect, it, onTestFinished } from 'vitest';
import { reportUsage } from '../../gateway/usage/usage-report.ts';
import { dayOf, type PlacedAmounts, type UsageDay } from '../../gateway/usage/usage-store.ts';
import { runCommand } from '../support/run-command.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { openUsage } from './open-usage.ts';

const [first, second] = ['0123456789ab', 'ba9876543210'];
const token = 'a-token-of-the-admin-api-1234567890';
const yesterday = (): string => dayOf(Date.now() - 86_400_000);

const amounts = (place: string, calls: number, errors = 0): PlacedAmounts => ({
  ...{ place, calls, units: 80 * calls, errors, bytes: 100 * calls },
});

/** A gateway with the usage of two keys, yesterday and today. */
async function start(): Promise<TestGateway> {
  const gateway = await startGateway(
    { main: network(5, ['http://127.0.0.1:1']) },
    { OPS_PORT: '0', ADMIN_TOKEN: token },
  );
  onTestFinished(() => gateway.stop());
  const usage = await openUsage({ REDIS_URL: undefined, DATA_DIR: gateway.dataDir });
  const batch = { day: yesterday(), number: 1 };
  await usage.add([
    { ...batch, key: first, amounts: [amounts('main eth_call', 3), amounts('main eth_call:rate-limit', 1, 1)] },
    { ...batch, key: second, amounts: [amounts('main eth_call', 10), amounts('base eth_chainId', 1)] },
    { key: second, day: dayOf(Date.now()), number: 2, amounts: [amounts('main eth_call', 7)] },
  ]);
  return gateway;
}

const run = ({ dataDir }: TestGateway, ...args: string[]): ReturnType<typeof runCommand> =>
  runCommand(['usage', ...args], { env: { DATA_DIR: dataDir } });

it('the units of yesterday by key, network and method are one command, as CSV', async () => {
  const gateway = await start();
  const { stdout, code } = await run(gateway, '--day', 'yesterday', '--by', 'key,network,method', '--csv');
  expect([stdout, code]).toEqual([
    [
      'key,network,method,name,calls,units,errors,bytes',
      `${second},main,eth_call,,10,800,0,1000`,
      `${first},main,eth_call,,4,320,1,400`,
      `${second},base,eth_chainId,,1,80,0,100`,
      '',
    ].join('\n'),
    0,
  ]);
});

it('a report has the sums of the parts that it is by', async () => {
  const gateway = await start();
  expect(JSON.parse((await run(gateway, '--by', 'key', '--json')).stdout)).toEqual([
    { key: second, calls: 11, units: 880, errors: 0, bytes: 1100 },
    { key: first, calls: 4, units: 320, errors: 1, bytes: 400, reasons: { 'rate-limit': 1 } },
  ]);
  expect((await run(gateway, '--day', 'today', '--by', 'network')).stdout).toBe(
    'NETWORK  CALLS  UNITS  ERRORS  BYTES\nmain     7      560    0       700\n',
  );
  expect((await run(gateway, '--day', dayOf(Date.now() - 5 * 86_400_000))).stdout).toMatch(/^No usage on /);
});

it('the command has several days, each day apart, with the names of keys: an invoice of a month is one command', async () => {
  const gateway = await start();
  const usage = await openUsage({ REDIS_URL: undefined, DATA_DIR: gateway.dataDir });
  const [named] = [...(await gateway.gateway.keys.entries()).values()];
  const [key, today] = [named?.id ?? '', dayOf(Date.now())];
  await usage.add([{ key, day: today, number: 3, amounts: [amounts('main eth_call', 1)] }]);
  expect((await run(gateway, '--days', '30', '--by', 'day,key', '--csv')).stdout).toBe(
    [
      'day,key,name,calls,units,errors,bytes',
      `${yesterday()},${second},,11,880,0,1100`,
      `${today},${second},,7,560,0,700`,
      `${yesterday()},${first},,4,320,1,400`,
      `${today},${key},test,1,80,0,100`,
      '',
    ].join('\n'),
  );
  expect((await run(gateway, '--days', '2', '--by', 'network')).stdout).toMatch(/^main +22 +1760 /m);
});

it('of many rows those with most units are kept', async () => {
  const rows = Array.from({ length: 5_000 }, (_, at) => amounts(`main eth_m${at}`, (at * 7_919) % 5_000));
  const store = {
    async *entries(): AsyncIterable<UsageDay> {
      yield* [{ key: first, day: yesterday(), amounts: rows }];
    },
  };
  const { rows: kept, total } = await reportUsage(store, [yesterday()], ['method'], 3);
  expect(kept.map(({ calls }) => calls)).toEqual([4_999, 4_998, 4_997]);
  expect(total).toBe(5_000);
});

it.each([
  [['--day', '2020-01-01'], '--day: expected today, yesterday or a date of the last 90 days'],
  [['--day', '2026-02-31'], '--day: expected today, yesterday or a date of the last 90 days'],
  [['--day', 'tomorrow'], '--day: expected today, yesterday or a date of the last 90 days'],
  [['--days', '91'], '--days: expected a whole number from 1 to 90'],
  [['--day', 'today', '--days', '2'], 'Give one of --day and --days'],
  [['--by', 'team'], '--by: expected day, key, network, method, or several with commas'],
  [['--limit', '0'], '--limit: expected a number above 0'],
])('gatehouse usage %j is rejected', async (args, message) => {
  const gateway = await start();
  expect(await run(gateway, ...args)).toMatchObject({ code: 1, stderr: expect.stringContaining(message) as string });
});

it('the admin API has the same report', async () => {
  const gateway = await start();
  const get = async (query: string): Promise<unknown> => {
    const url = `http://127.0.0.1:${gateway.gateway.opsPort ?? 0}/admin/usage${query}`;
    return (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).json();
  };
  expect(await get('?day=yesterday&by=method')).toEqual({
    ...{ day: yesterday(), total: 2 },
    usage: [
      { method: 'eth_call', calls: 14, units: 1120, errors: 1, bytes: 1400, reasons: { 'rate-limit': 1 } },
      { method: 'eth_chainId', calls: 1, units: 80, errors: 0, bytes: 100 },
    ],
  });
  expect(await get('?limit=1&by=method')).toMatchObject({ total: 2, usage: [{ method: 'eth_call' }] });
  expect(await get('?limit=10001')).toMatchObject({ error: { field: 'limit' } });
  expect(await get('?day=never')).toMatchObject({ error: { field: 'day' } });
  expect(await get('?by=team')).toMatchObject({ error: { field: 'by' } });
  expect(await get('?day=today&days=1')).toMatchObject({ error: { field: 'day' } });
  expect(await get('?days=91')).toMatchObject({ error: { field: 'days' } });
});

it('the admin API has the sum of several days, each day apart, and the name of a key', async () => {
  const gateway = await start();
  const usage = await openUsage({ REDIS_URL: undefined, DATA_DIR: gateway.dataDir });
  const [named] = [...(await gateway.gateway.keys.entries()).values()];
  const [key, today] = [named?.id ?? '', dayOf(Date.now())];
  await usage.add([{ key, day: today, number: 3, amounts: [amounts('main eth_call', 1)] }]);
  const get = async (query: string): Promise<unknown> => {
    const url = `http://127.0.0.1:${gateway.gateway.opsPort ?? 0}/admin/usage${query}`;
    return (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).json();
  };
  expect(await get('?days=2&by=method')).toMatchObject({
    ...{ from: yesterday(), to: today },
    usage: [
      { method: 'eth_call', calls: 22 },
      { method: 'eth_chainId', calls: 1 },
    ],
  });
  expect(await get('?days=2&by=day,key')).toMatchObject({
    usage: [
      { day: yesterday(), key: second, calls: 11 },
      { day: today, key: second, calls: 7 },
      { day: yesterday(), key: first, calls: 4 },
      { day: today, key, name: 'test', calls: 1 },
    ],
  });
});
