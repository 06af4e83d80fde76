import { expect, it } from 'vitest';
import { PublicAccounts } from '../../gateway/admission/public-accounts.ts';
import { compileAccess, type KeyAccess } from '../../gateway/auth/key-access.ts';
import { OpenCounts, serveOpenCounts } from '../../gateway/limits/open-counts.ts';
import { eventually } from '../support/eventually.ts';
import { linkedWorkers } from '../workers/linked-workers.ts';

const accessOf = (team: string): KeyAccess =>
  compileAccess({ id: 'key', name: 'key', createdAt: '2026-01-02T03:04:05.678Z', permissions: { team } });
const team = accessOf('team');
const addresses = new PublicAccounts('all');
/** A caller without a key, whose network counts all such callers. */
const publicAccess = (address: string): KeyAccess => ({ ...team, account: addresses.of(address) });
const limits = { own: 3, all: 4 };

it.each(['one process', 'two workers'])(
  'an account opens as much as its limit permits in %s, and not more',
  async (name) => {
    const { workers, links } = await linkedWorkers(2);
    serveOpenCounts(workers.router);
    const single = new OpenCounts();
    const [one, other] = name === 'one process' ? [single, single] : links.map((link) => new OpenCounts(link));
    const take = (counts: OpenCounts | undefined, count = 1): unknown => counts?.take(team, 'sockets', count, limits);
    // All at the same moment.
    const taken = await Promise.all([one, other, one, other, other].map((counts) => take(counts)));
    expect(taken.filter((shortOf) => shortOf === undefined)).toHaveLength(3);
    expect(taken.filter((shortOf) => shortOf === 'own')).toHaveLength(2);
    expect(await one?.take(team, 'subscriptions', 3, limits)).toBeUndefined();
    expect(await one?.take(accessOf('another'), 'sockets', 3, limits)).toBeUndefined();
    one?.add(team, 'sockets', -1);
    expect(await take(other, 2)).toBe('own');
    expect(await take(other)).toBeUndefined();
    expect(workers.errors).toEqual([]);
  },
);

it('a caller without a key counts for all of its network, too, and for neither if one limit rejects it', async () => {
  const counts = new OpenCounts();
  const take = (count: number): unknown => counts.take(publicAccess('192.0.2.1'), 'sockets', count, limits);
  const others = publicAccess('192.0.2.2');
  expect(await take(1)).toBeUndefined();
  expect(await counts.take(others, 'sockets', 3, limits)).toBeUndefined();
  expect(await take(1)).toBe('all');
  counts.add(others, 'sockets', -3);
  expect(await take(2)).toBeUndefined();
  expect(await take(1)).toBe('own');
});

it('what a worker has open ends with it', async () => {
  const { workers, links } = await linkedWorkers(2);
  serveOpenCounts(workers.router);
  const [one, other] = links.map((link) => new OpenCounts(link)) as [OpenCounts, OpenCounts];
  expect(await one.take(team, 'sockets', 2, limits)).toBeUndefined();
  expect(await other.take(team, 'sockets', 1, limits)).toBeUndefined();
  expect(await other.take(team, 'sockets', 2, limits)).toBe('own');
  workers.end(1);
  expect(await other.take(team, 'sockets', 2, limits)).toBeUndefined();
});

it('each worker learns once that the quota of an account is used up', async () => {
  const { links } = await linkedWorkers(2);
  const [one, other] = links.map((link) => new OpenCounts(link)) as [OpenCounts, OpenCounts];
  one.reportUsedUp('key');
  expect([...one.takeUsedUp()]).toEqual(['key']);
  let learned: readonly string[] = [];
  await eventually(() => (learned = [...learned, ...other.takeUsedUp()]).length > 0);
  expect([learned, [...one.takeUsedUp()], [...other.takeUsedUp()]]).toEqual([['key'], [], []]);
});
