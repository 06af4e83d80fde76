import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Account } from '../../gateway/admission/account.ts';
import { Gate } from '../../gateway/admission/gate.ts';
import { KeyAccount, KeyAccounts } from '../../gateway/admission/key-accounts.ts';
import { MachineSlots } from '../../gateway/workers/machine-slots.ts';
import type { WorkerLink } from '../../gateway/workers/worker-link.ts';
import { WorkerSlots } from '../../gateway/workers/worker-slots.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { linkedWorkers, type LinkedWorkers } from './linked-workers.ts';

const owner = new Account('owner');

/** Requests of one worker, of a number of slots that the workers share. */
class Requests {
  readonly gate = new Gate({ slots: 0, hasOneOwner: true, rejection: () => new Error('not reached') });
  readonly leases: WorkerSlots;
  isEnded = false;
  /** Messages of this worker to the primary, for more slots or to return some. */
  messages = 0;

  constructor(link: WorkerLink, limit: number) {
    const request = link.request.bind(link);
    link.request = (...sent) => {
      this.messages++;
      return request(...sent);
    };
    const notify = link.notify.bind(link);
    link.notify = (...sent) => {
      this.messages++;
      notify(...sent);
    };
    this.leases = new WorkerSlots(link);
    this.gate.lease = this.leases.open('one', limit, this.gate);
  }

  begin(count = 1): void {
    for (let begun = 0; begun < count; begun++)
      if (!this.gate.tryEnter(owner)) void this.gate.wait(owner, Infinity, undefined);
  }

  end(count = 1): void {
    for (let ended = 0; ended < count; ended++) this.gate.leave(owner);
  }
}

async function machine(count: number, limit: number): Promise<{ workers: LinkedWorkers; all: Requests[] }> {
  const { workers, links } = await linkedWorkers(count);
  new MachineSlots(workers.router, count).serve();
  return { workers, all: links.map((link) => new Requests(link, limit)) };
}

/** All messages of all workers have arrived. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
}

const inFlight = (all: readonly Requests[]): number[] => all.map(({ gate }) => gate.inFlight);
const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

describe('slots that workers share', () => {
  it('are all for the only worker with requests', async () => {
    const { all } = await machine(2, 8);
    all[0]?.begin(10);
    await settled();
    expect(inFlight(all)).toEqual([8, 0]);
  });

  it('go to the worker with requests from one that uses them no more', async () => {
    const { all } = await machine(3, 8);
    const [first, second] = all as [Requests, Requests, Requests];
    first.begin(8);
    await settled();
    first.end(8);
    second.begin(9);
    await settled();
    expect(inFlight(all)).toEqual([0, 8, 0]);
  });

  it('are divided equally while all workers need them, and no request ends for that', async () => {
    const { all } = await machine(2, 8);
    const [first, second] = all as [Requests, Requests];
    first.begin(20);
    await settled();
    second.begin(20);
    await settled();
    expect(inFlight(all)).toEqual([8, 0]);
    for (let ended = 0; ended < 4; ended++) {
      first.end();
      await settled();
    }
    expect(inFlight(all)).toEqual([4, 4]);
    first.end();
    second.end();
    await settled();
    expect(inFlight(all)).toEqual([4, 4]);
  });

  it('go to a request that waits when a request of another worker ends', async () => {
    const { all } = await machine(2, 2);
    const [first, second] = all as [Requests, Requests];
    first.begin(1);
    second.begin(1);
    await settled();
    second.begin(1);
    await settled();
    expect(inFlight(all)).toEqual([1, 1]);
    first.end();
    await settled();
    expect(inFlight(all)).toEqual([0, 2]);
  });

  it('fewer than workers are used in turn', async () => {
    const { all } = await machine(2, 1);
    const [first, second] = all as [Requests, Requests];
    first.begin(3);
    await settled();
    second.begin(3);
    await settled();
    const used: number[] = [];
    for (let ended = 0; ended < 6; ended++) {
      expect(sum(inFlight(all))).toBe(1);
      used.push(first.gate.inFlight === 1 ? 1 : 2);
      (first.gate.inFlight === 1 ? first : second).end();
      await settled();
    }
    expect(used.toSorted()).toEqual([1, 1, 1, 2, 2, 2]);
    expect(used.slice(0, 3)).toContain(2);
    expect(inFlight(all)).toEqual([0, 0]);
  });

  it('of a worker that ends are for the others, also those in use', async () => {
    const { workers, all } = await machine(2, 8);
    const [first, second] = all as [Requests, Requests];
    first.begin(8);
    await settled();
    second.begin(8);
    await settled();
    expect(inFlight(all)).toEqual([8, 0]);
    workers.end(1);
    await settled();
    expect(second.gate.inFlight).toBe(8);
    const third = workers.open(3);
    third.join();
    const late = new Requests(third, 8);
    await settled();
    late.begin(1);
    second.end(1);
    await settled();
    expect([second.gate.inFlight, late.gate.inFlight]).toEqual([7, 1]);
  });

  it('cost no message while a worker has free ones', async () => {
    const { all } = await machine(2, 8);
    const [first] = all as [Requests, Requests];
    first.begin(1);
    await settled();
    const { messages } = first;
    for (let call = 0; call < 100; call++) {
      first.begin(3);
      first.end(3);
    }
    await settled();
    expect(first.messages).toBe(messages);
  });

  it('cost no message for each request that waits', async () => {
    const { all } = await machine(2, 4);
    const [first] = all as [Requests];
    first.begin(20);
    await settled();
    const { messages } = first;
    first.begin(1_000);
    await settled();
    expect(first.messages).toBe(messages);
  });

  it('of a worker that hangs are not waited for, and the others have theirs', async () => {
    const { workers, all } = await machine(2, 8);
    const [first, second] = all as [Requests, Requests];
    first.begin(4);
    await settled();
    workers.stop(1);
    second.begin(5);
    await settled();
    expect(second.gate.inFlight).toBe(4);
    await eventually(() => second.gate.lease?.requestMore() === undefined);
    first.end(4);
    workers.go(1);
    await settled();
    expect(second.gate.inFlight).toBe(5);
  });

  it('are returned beyond the share when they are idle', async () => {
    const { all } = await machine(2, 8);
    const [first] = all as [Requests, Requests];
    first.begin(8);
    await settled();
    expect(first.gate.size).toBe(8);
    first.end(8);
    await eventually(() => first.gate.size === 4);
    await staysTrueFor(20, () => first.gate.size === 4);
  });
});

it('after a change of the limit, the lowest one that a worker knows holds', async () => {
  const { links } = await (async () => {
    const linked = await linkedWorkers(2);
    new MachineSlots(linked.workers.router, 2).serve();
    return linked;
  })();
  const accounts = links.map((link) => new KeyAccount('account', new WorkerSlots(link)));
  const [first, second] = accounts as [KeyAccount, KeyAccount];
  const begin = (account: KeyAccount, count: number): void => {
    for (let begun = 0; begun < count; begun++)
      if (!account.requests.tryEnter(account)) account.requests.wait(account, 5_000, undefined).catch(() => undefined);
  };
  begin(first, 200);
  begin(second, 200);
  await settled();
  expect(first.requests.inFlight + second.requests.inFlight).toBe(256);
  first.limitConcurrency('key', 6);
  await settled();
  while (first.requests.inFlight > 0) first.requests.leave(first);
  while (second.requests.inFlight > 0) second.requests.leave(second);
  await settled();
  begin(first, 10);
  begin(second, 10);
  await settled();
  expect(first.requests.inFlight + second.requests.inFlight).toBe(6);
  first.limitConcurrency('key', undefined);
  await settled();
  expect(first.requests.inFlight + second.requests.inFlight).toBe(20);
});

it('a worker without requests of a key does not hold the key to its former limit', async () => {
  const { workers, links } = await linkedWorkers(2);
  new MachineSlots(workers.router, 2).serve();
  const all = links.map((link) => new KeyAccounts(new WorkerSlots(link)));
  const open = (): KeyAccount[] => all.map((accounts) => accounts.of('key', 'id', 1_000));
  for (const account of open()) {
    expect(account.requests.tryEnter(account)).toBe(false);
    void account.requests.wait(account, Infinity, undefined);
    await settled();
    account.requests.leave(account);
  }
  for (const accounts of all) accounts.forget('id');
  await settled();
  // Only the first worker gets requests of the changed key.
  const changed = all[0]?.of('key', 'id', 1_000) as KeyAccount;
  for (let begun = 0; begun < 600; begun++) {
    if (!changed.requests.tryEnter(changed)) changed.requests.wait(changed, Infinity, undefined).catch(() => undefined);
    if (begun % 100 === 99) await settled();
  }
  expect(changed.requests.inFlight).toBe(600);
});

it('a lease that is closed while slots are on their way returns them', async () => {
  const { workers, links } = await linkedWorkers(2);
  new MachineSlots(workers.router, 2).serve();
  const leases = new WorkerSlots(links[0] as WorkerLink);
  const gates: Gate[] = [];
  for (let turns = 0; turns < 9; turns++) {
    const gate = new Gate({ slots: 0, hasOneOwner: true, rejection: () => new Error('not reached') });
    gates.push(gate);
    gate.lease = leases.open(`${turns}`, 8, gate);
    expect(gate.tryEnter(owner)).toBe(false);
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    gate.lease.close();
  }
  await settled();
  await eventually(() => gates.every(({ size }) => size === 0));
});

it('requests of all workers never exceed the limit, and no slot is lost, whatever begins and ends', async () => {
  const step = fc.record({
    worker: fc.integer({ min: 0, max: 2 }),
    action: fc.constantFrom('begin', 'end', 'wait', 'end worker'),
    count: fc.integer({ min: 1, max: 4 }),
  });
  const limits = fc.integer({ min: 1, max: 9 });
  await fc.assert(
    fc.asyncProperty(limits, fc.array(step, { maxLength: 40 }), async (limit, steps) => {
      const { workers, all } = await machine(3, limit);
      let lastId = 3;
      const ids = [1, 2, 3];
      const check = (): void => {
        expect(sum(inFlight(all))).toBeLessThanOrEqual(limit);
      };
      for (const { worker, action, count } of steps) {
        const requests = all[worker] as Requests;
        if (action === 'begin') requests.begin(count);
        else if (action === 'end') requests.end(Math.min(count, requests.gate.inFlight));
        else if (action === 'wait') await settled();
        else if (lastId < 5) {
          workers.end(ids[worker] as number);
          const link = workers.open(++lastId);
          link.join();
          ids[worker] = lastId;
          all[worker] = new Requests(link, limit);
        }
        check();
        for (let turn = 0; turn < count; turn++) {
          await Promise.resolve();
          check();
        }
      }
      // Each request ends, and then all slots can be used by one worker.
      for (;;) {
        await settled();
        check();
        if (all.every(({ gate }) => gate.inFlight === 0)) break;
        for (const requests of all) requests.end(Math.min(1, requests.gate.inFlight));
      }
      expect(all.map(({ gate }) => gate.waiting)).toEqual([0, 0, 0]);
      all[0]?.begin(limit);
      await settled();
      expect(all[0]?.gate.inFlight).toBe(limit);
      expect(workers.errors).toEqual([]);
    }),
    { numRuns: 400 },
  );
});
