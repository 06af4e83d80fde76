import { expect, it } from 'vitest';
import { OpenCounts } from '../../../gateway/server/websocket/key-sessions.ts';
import type { WorkerLink } from '../../../gateway/workers/worker-link.ts';
import { linkedWorkers } from '../../workers/linked-workers.ts';

/** All that was sent to the worker before has arrived. */
const settled = (link: WorkerLink): Promise<unknown> => link.requestOthers('', undefined);

it('what an account has open is counted over all workers, also by a new one, and ends with its worker', async () => {
  const { workers, links } = await linkedWorkers(2);
  const [first, second] = links as readonly [WorkerLink, WorkerLink];
  const [one, other] = [new OpenCounts(first), new OpenCounts(second)];
  one.add('team', 1, 5);
  one.add('closed', 1, 0);
  one.add('closed', -1, 0);
  other.add('team', 1, 0);
  await Promise.all([settled(first), settled(second)]);
  expect([one.of('team'), other.of('team')]).toEqual(
    Array.from({ length: 2 }, () => ({ sockets: 2, subscriptions: 5 })),
  );
  expect(other.of('closed')).toEqual({ sockets: 0, subscriptions: 0 });
  const third = workers.open(3);
  third.join();
  const late = new OpenCounts(third);
  await settled(third);
  expect(late.of('team')).toEqual({ sockets: 2, subscriptions: 5 });
  workers.end(1);
  await settled(second);
  expect(other.of('team')).toEqual({ sockets: 1, subscriptions: 0 });
});

it('beyond its part of a limit, a worker opens one when the others know the one before', async () => {
  const { workers, links } = await linkedWorkers(2);
  const [first, second] = links as readonly [WorkerLink, WorkerLink];
  const [one, other] = [new OpenCounts(first), new OpenCounts(second)];
  one.add('key', 1, 0);
  one.add('key', 1, 0);
  expect(one.whenShared('key', 'sockets', 6)).toBeUndefined();
  const shared = one.whenShared('key', 'sockets', 5);
  expect(shared).toBeInstanceOf(Promise);
  await shared;
  expect(other.of('key').sockets).toBe(2);
  expect(one.whenShared('key', 'sockets', 5)).toBeUndefined();
  // A worker that ends is not waited for.
  workers.stop(2);
  one.add('key', 1, 0);
  workers.end(2);
  await one.whenShared('key', 'sockets', 5);
});

it('the workers that have sockets of an account learn once that its quota is used up', async () => {
  const { links } = await linkedWorkers(3);
  const all = (links as readonly WorkerLink[]).map((link) => new OpenCounts(link));
  const [one, other, without] = all as [OpenCounts, OpenCounts, OpenCounts];
  for (const each of [one, other]) each.add('key', 1, 0);
  one.reportUsedUp('key');
  await Promise.all(links.map((link) => settled(link as WorkerLink)));
  expect([one, other, without].map((each) => [...each.takeUsedUp()])).toEqual([['key'], ['key'], []]);
  expect([one, other].map((each) => [...each.takeUsedUp()])).toEqual([[], []]);
});
