import { expect, it } from 'vitest';
import type { WorkerLink } from '../../gateway/workers/worker-link.ts';
import { LinkedWorkers, linkedWorkers } from './linked-workers.ts';

async function linked(count: number) {
  const { workers, links } = await linkedWorkers(count);
  return { workers, links, first: links[0] as WorkerLink, second: links[1] as WorkerLink };
}

it('a request to the others gets the results of all of them', async () => {
  const { links, first } = await linked(3);
  for (const link of links) link.on('name', (greeting: string, from) => `${greeting} of ${from} to ${link.id}`);
  expect(await first.requestOthers('name', 'hello')).toEqual(['hello of 1 to 2', 'hello of 1 to 3']);
});

it('a request to one worker gets its result, also a later one, with Maps and bigints', async () => {
  const { first, second } = await linked(2);
  second.on('double', async (numbers: Map<string, bigint>) => {
    await Promise.resolve();
    return new Map([...numbers].map(([name, value]) => [name, 2n * value]));
  });
  expect(await first.request(2, 'double', new Map([['a', 21n]]))).toEqual(new Map([['a', 42n]]));
});

it('a request to a worker that does not exist, or ends before its response, has no result', async () => {
  const { workers, first, second } = await linked(2);
  second.on('never', () => new Promise(() => undefined));
  expect(await first.request(7, 'never', undefined)).toBeUndefined();
  const one = first.request(2, 'never', undefined);
  const all = first.requestOthers('never', undefined);
  workers.end(2);
  expect(await one).toBeUndefined();
  expect(await all).toEqual([]);
});

it('a worker that has not joined gets no request', async () => {
  const { workers, first } = await linked(1);
  const joining = workers.open(2);
  joining.on('name', () => 'second');
  expect(await first.requestOthers('name', undefined)).toEqual([]);
  joining.join();
  await joining.requestOthers('', undefined);
  expect(await first.requestOthers('name', undefined)).toEqual(['second']);
});

it('a request that needs no response is handled in order with those that do', async () => {
  const { first, second } = await linked(2);
  const handled: number[] = [];
  second.on('count', (number: number) => handled.push(number));
  first.notify('count', 1);
  first.notify('count', 2);
  await first.request(2, 'count', 3);
  expect(handled).toEqual([1, 2, 3]);
});

it('the primary responds to requests of its own', async () => {
  const { workers, first } = await linked(1);
  workers.router.on('sum', (numbers: number[], from) => [from, ...numbers]);
  expect(await first.request('primary', 'sum', [2, 3])).toEqual([1, 2, 3]);
});

it('the oldest worker is the first one, and the next one after its end', async () => {
  const { workers, first, second } = await linked(2);
  expect([first.isFirst, second.isFirst]).toEqual([true, false]);
  workers.end(1);
  await second.requestOthers('', undefined);
  expect(second.isFirst).toBe(true);
});

it('a worker alone waits for nobody', async () => {
  const workers = new LinkedWorkers();
  const only = workers.open(1, 2);
  expect(only.isFirst).toBe(true);
  only.join();
  expect(await only.requestOthers('name', undefined)).toEqual([]);
});

it('a handler that fails has no result, and its error is reported', async () => {
  const { workers, first, second } = await linked(2);
  const fail = (): never => {
    throw new Error('a defect');
  };
  second.on('fail', fail);
  workers.router.on('fail', fail);
  expect(await first.requestOthers('fail', undefined)).toEqual([]);
  expect(await first.request('primary', 'fail', undefined)).toBeUndefined();
  expect(workers.errors).toHaveLength(2);
});
