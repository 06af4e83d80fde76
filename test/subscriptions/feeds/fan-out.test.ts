import { expect, it } from 'vitest';
import { FanOut } from '../../../gateway/subscriptions/feeds/fan-out.ts';
import type { Subscriber } from '../../../gateway/subscriptions/feeds/subscriber.ts';
import { blockEventLoop } from '../../support/block-event-loop.ts';

/** A subscriber for which each result takes 0.1 ms. */
function subscriberOf(owner: string, delivered: string[]): Subscriber & { isClosed: boolean } {
  return {
    owner,
    isClosed: false,
    deliver(results) {
      blockEventLoop(results.length / 10);
      delivered.push(...results);
    },
    markGap: () => undefined,
  };
}

const results = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${name}${index}`);

it('the many results of one owner do not delay those of others, and keep their order', async () => {
  const fanOut = new FanOut();
  const delivered: string[] = [];
  const heavy = Array.from({ length: 20 }, () => subscriberOf('heavy', delivered));
  for (const [index, subscriber] of heavy.entries()) fanOut.deliver(subscriber, results(`${index}:`, 40));
  fanOut.deliver(subscriberOf('light', delivered), results('light', 5));
  const ofHeavy = fanOut.deliveryTo('heavy');
  let turns = 0;
  const count = setInterval(() => turns++, 0);
  await fanOut.deliveryTo('light');
  expect(delivered.filter((name) => name.startsWith('light'))).toEqual(results('light', 5));
  expect(delivered.length).toBeLessThan(400);
  await ofHeavy;
  clearInterval(count);
  // 80 ms, of which a turn of the event loop has 3.
  expect(turns).toBeGreaterThan(5);
  const expected = heavy.flatMap((_, index) => results(`${index}:`, 40));
  expect(delivered.filter((name) => !name.startsWith('light'))).toEqual(expected);
  expect(fanOut.deliveryTo('heavy')).toBeUndefined();
});

it('nothing more is delivered to a subscriber that has closed', async () => {
  const fanOut = new FanOut();
  const delivered: string[] = [];
  const [first, closed] = [subscriberOf('one', delivered), subscriberOf('one', delivered)];
  fanOut.deliver(first, results('a', 60));
  fanOut.deliver(closed, results('b', 60));
  closed.isClosed = true;
  await fanOut.deliveryTo('one');
  expect(delivered).toEqual(results('a', 60));
});
