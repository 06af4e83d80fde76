import { describe, expect, it } from 'vitest';
import { RetryBudget } from '../../../gateway/routing/retry-budget.ts';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { status, type Exchange } from '../../support/behaviours.ts';
import { eventually } from '../../support/eventually.ts';
import { shiftClock, withNodes, word } from '../with-nodes.ts';

function takeAll(budget: RetryBudget, now: number): number {
  let taken = 0;
  while (budget.takeExtra(now)) taken++;
  return taken;
}

describe('the retry budget of a network', () => {
  it('allows 20 retries, however few calls there are', () => {
    expect(takeAll(new RetryBudget(), 0)).toBe(20);
  });

  it('allows 20 % of the calls of the last seconds in addition', () => {
    const budget = new RetryBudget();
    for (let calls = 0; calls < 1_000; calls++) budget.countCall(calls);
    expect(takeAll(budget, 1_000)).toBe(220);
    for (let calls = 0; calls < 100; calls++) budget.countCall(6_000);
    expect(takeAll(budget, 6_000)).toBe(20);
    // The window has ended.
    expect(takeAll(budget, 20_000)).toBe(20);
  });

  it('counts retries that are always allowed, too', () => {
    const budget = new RetryBudget();
    budget.countCall(0);
    for (let times = 0; times < 15; times++) budget.countExtra();
    expect(takeAll(budget, 0)).toBe(6);
  });
});

describe('an outage of all upstreams', () => {
  it('does not double the load', async () => {
    // With a stopped clock, the window of the budget does not end, even on a slow machine.
    shiftClock();
    const all = await withNodes(2);
    await all.request();
    for (const node of all.nodes) node.always(status(503));
    for (let times = 0; times < 6; times++) await Promise.all(Array.from({ length: 25 }, () => all.send()));
    const [first = 0, second = 0] = all.requestCounts();
    // 150 calls, 20 % and 20 retries, and 26 calls in flight before the circuits opened.
    expect(first + second).toBeLessThanOrEqual(150 + 30 + 20 + 26);
    expect(first + second).toBeGreaterThanOrEqual(150);
    const { value } = await readMetrics(all.gateway.address);
    expect(value('gatehouse_retry_budget_exhausted_total', { what: 'retry' })).toBeGreaterThan(0);
  });

  it('ends with the first successful call', async () => {
    const all = await withNodes(2);
    for (const node of all.nodes) node.always(status(503));
    for (let times = 0; times < 30; times++) await all.send();
    for (const node of all.nodes) {
      node.always(undefined);
      node.calls.length = 0;
    }
    expect(await all.request()).toMatchObject({ result: word(1) });
    expect(await all.request()).toMatchObject({ result: word(1) });
    expect(all.requestCounts()).toEqual([2, 0]);
  });
});

it('a call skips an upstream with a half-open circuit if the budget is used up, and is sent to one with a closed circuit', async () => {
  // With a stopped clock, failures that arrive late on a slow machine do not extend the cooldown.
  const clock = shiftClock();
  // Calls are held until all of them have arrived.
  const all = await withNodes(3, { UPSTREAM_TIMEOUT_MS: '60000', CALL_TIMEOUT_MS: '60000' });
  await all.request();
  const held: Exchange[] = [];
  all.nodes[0]?.always((exchange) => void held.push(exchange));
  const calls = Array.from({ length: 50 }, all.request);
  await eventually(() => held.length === 50);
  for (const exchange of held) void status(503)(exchange);
  await Promise.all(calls);
  for (const node of all.nodes.slice(0, 2)) node.always(status(503));
  for (let times = 0; times < 3; times++) expect(await all.request()).toMatchObject({ result: word(3) });
  clock.forward(1_100);
  for (const node of all.nodes) node.calls.length = 0;
  expect(await all.request()).toMatchObject({ result: word(3) });
  expect(all.requestCounts()).toEqual([1, 0, 1]);
  const { value } = await readMetrics(all.gateway.address);
  expect(value('gatehouse_retry_budget_exhausted_total', { what: 'retry' })).toBe(1);
});

it('the failure of one upstream of two affects no caller, however many calls are in flight', async () => {
  const all = await withNodes(2);
  await all.request();
  all.nodes[0]?.always(status(503));
  const responses = await Promise.all(Array.from({ length: 200 }, all.request));
  expect(new Set(responses.map(({ result }) => result))).toEqual(new Set([word(2)]));
  expect(all.requestCounts()[1]).toBe(200);
  const { value } = await readMetrics(all.gateway.address);
  expect(value('gatehouse_failovers_total', { upstream: 'node-1' })).toBe((all.requestCounts()[0] ?? 0) - 1);
});
