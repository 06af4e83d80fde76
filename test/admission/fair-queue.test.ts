import { expect, it } from 'vitest';
import { FairQueue, type Departure, type Queued } from '../../gateway/admission/fair-queue.ts';
import type { SlotOwner } from '../../gateway/admission/fair-slots.ts';
import { Cancellation, Cancelled, type Cancellable } from '../../gateway/upstreams/transport/cancellation.ts';
import { eventually } from '../support/eventually.ts';

const ONE_MINUTE_MS = 60_000;
const owner: SlotOwner = { weight: 1 };

class QueueFull extends Error {}

/** A request that records what happens to it. */
class Recorded implements Queued {
  readonly events: unknown[] = [];

  started(): void {
    this.events.push('started');
  }

  rejected(reason: Error): void {
    this.events.push(reason.constructor);
  }
}

function queueOf(slots: number, options: { queueMax?: number; maxWaitMs?: number } = {}): FairQueue {
  return new FairQueue({ slots, rejection: () => new QueueFull(), ...options });
}

function enqueued(queue: FairQueue, departure?: Departure, timeLimitMs = ONE_MINUTE_MS): Recorded {
  const request = new Recorded();
  queue.enqueue(request, owner, timeLimitMs, departure);
  return request;
}

it('requests start in order of arrival, each once', () => {
  const queue = queueOf(1);
  expect(queue.tryEnter(owner)).toBe(true);
  const [first, second] = [enqueued(queue), enqueued(queue)];
  queue.leave(owner);
  expect([first.events, second.events]).toEqual([['started'], []]);
  queue.leave(owner);
  expect([first.events, second.events]).toEqual([['started'], ['started']]);
});

it('a request beyond the length of the queue is rejected at once', () => {
  const queue = queueOf(1, { queueMax: 1 });
  queue.tryEnter(owner);
  const waiting = enqueued(queue);
  expect([waiting.events, enqueued(queue).events]).toEqual([[], [QueueFull]]);
});

it.each([
  ['its own time limit', {}, 20],
  ['the limit of the queue', { maxWaitMs: 20 }, ONE_MINUTE_MS],
])('a request that waits longer than %s is rejected, and those after it start', async (_, options, timeLimitMs) => {
  const queue = queueOf(1, options);
  queue.tryEnter(owner);
  const late = enqueued(queue, undefined, timeLimitMs);
  await eventually(() => late.events.length > 0);
  expect(late.events).toEqual([QueueFull]);
  const next = enqueued(queue);
  queue.leave(owner);
  expect([late.events, next.events]).toEqual([[QueueFull], ['started']]);
});

it('requests of a caller who leaves are rejected, and others keep their places', () => {
  const queue = queueOf(1);
  const caller = new Cancellation();
  queue.tryEnter(owner);
  // Its slot is released when the caller leaves, before those that wait are cancelled.
  const inFlight: Cancellable = {
    cancellationPlace: -1,
    cancel: () => {
      queue.leave(owner);
    },
  };
  caller.add(inFlight);
  const own = [enqueued(queue, caller), enqueued(queue, caller)];
  const others = [enqueued(queue), enqueued(queue)];
  caller.cancel();
  expect(own.map(({ events }) => events)).toEqual([[Cancelled], [Cancelled]]);
  expect(others.map(({ events }) => events)).toEqual([['started'], []]);
  queue.leave(owner);
  expect(others.map(({ events }) => events)).toEqual([['started'], ['started']]);
  expect(enqueued(queue, caller).events).toEqual([Cancelled]);
});
