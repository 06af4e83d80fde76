import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { methods, nodeMethods } from '../../gateway/spec/methods.generated.ts';
import { parseLogFilter } from '../../gateway/chain/logs/log-filter.ts';
import {
  NetworkSubscriptions,
  type NetworkSubscriptionsOptions,
} from '../../gateway/subscriptions/network-subscriptions.ts';
import { Account } from '../../gateway/admission/account.ts';
import { MemoryBudget } from '../../gateway/memory/memory-budget.ts';
import { PolledFilter } from '../../gateway/subscriptions/polled-filter.ts';
import { ScriptedChain } from '../chain/scripted-chain.ts';
import { withHeads } from '../chain/with-heads.ts';
import { eventually } from '../support/eventually.ts';
import { holdTimers, type HeldTimers } from '../support/hold-timers.ts';

describe('a poll of a filter without results', () => {
  const never = new Promise<void>(() => undefined);
  let filter: PolledFilter;
  let timers: HeldTimers;
  beforeEach(() => {
    timers = holdTimers('setTimeout');
    const memory = { take: () => undefined, giveBack: () => undefined };
    filter = new PolledFilter({}, { kind: 'logs', filter: parseLogFilter({}) }, memory, () => undefined);
  });
  afterEach(() => {
    filter.close();
    timers.release();
  });

  it('does not wait if all blocks are delivered', async () => {
    // With held timers, a wait would not end.
    expect(await filter.takeResults(undefined)).toEqual([]);
  });

  it('waits for a delivery in progress, until it ends or has results', async () => {
    expect(await filter.takeResults(Promise.resolve())).toEqual([]);
    const polled = filter.takeResults(never);
    filter.deliver(['{}']);
    expect(await polled).toEqual(['{}']);
  });

  it('waits at most 300 ms', async () => {
    const polled = filter.takeResults(never);
    await timers.forward(299);
    let hasEnded = false;
    void polled.then(() => (hasEnded = true));
    await timers.forward(0);
    expect(hasEnded).toBe(false);
    await timers.forward(1);
    expect(await polled).toEqual([]);
  });
});

describe('what a filter buffers', () => {
  function withBudget(): {
    memory: MemoryBudget;
    other: Account;
    filter: PolledFilter;
    isRemoved: () => boolean;
  } {
    const memory = new MemoryBudget({ requestsMax: 1, maxBytes: 1_000 });
    const [key, other] = [new Account('key'), new Account('other')];
    const ofKey = {
      take: (bytes: number) => {
        memory.take(key, bytes);
      },
      giveBack: (bytes: number) => {
        memory.add(key, -bytes);
      },
    };
    let isRemoved = false;
    const filter = new PolledFilter({}, { kind: 'logs', filter: parseLogFilter({}) }, ofKey, () => {
      isRemoved = true;
      filter.close();
    });
    return { memory, other, filter, isRemoved: () => isRemoved };
  }

  it('takes bytes from the memory budget of its key until it is polled or removed', async () => {
    const { memory, filter } = withBudget();
    filter.deliver(['x'.repeat(100), 'y'.repeat(50)]);
    expect(memory.bytes).toBe(150);
    expect(await filter.takeResults(undefined)).toHaveLength(2);
    expect(memory.bytes).toBe(0);
    filter.deliver(['x'.repeat(100)]);
    filter.close();
    filter.deliver(['x'.repeat(100)]);
    expect(memory.bytes).toBe(0);
  });

  it('removes the filter if the budget has no bytes left for the key', () => {
    const { memory, other, filter, isRemoved } = withBudget();
    memory.add(other, 600);
    filter.deliver(['x'.repeat(100)]);
    expect([isRemoved(), memory.bytes]).toEqual([false, 700]);
    filter.deliver(['x'.repeat(100)]);
    expect([isRemoved(), memory.bytes]).toEqual([true, 600]);
  });
});

/** The subscriptions of a network. Requests for logs wait for `release`. */
async function open() {
  const { poller, nodes, upstreams, watch } = await withHeads([new ScriptedChain()]);
  const [node] = nodes;
  const [upstream] = upstreams;
  const logs = methods.find(({ name }) => name === nodeMethods.logs);
  if (node === undefined || upstream === undefined || logs === undefined) throw new Error('incomplete');
  let held: (() => void)[] = [];
  const request = (): Promise<unknown> =>
    new Promise((resolve) => {
      held.push(() => {
        resolve({ kind: 'result', result: [] });
      });
    });
  const release = (): void => {
    for (const respond of held) respond();
    held = [];
  };
  // Metrics and usage are for sockets.
  const options = { chain: poller, upstreams: { all: [], request }, logs } as unknown as NetworkSubscriptionsOptions;
  const subscriptions = new NetworkSubscriptions(options);
  await watch();
  const subscriber = { deliver: () => undefined, markGap: () => undefined };
  await subscriptions.subscribe({ kind: 'logs', filter: parseLogFilter({}) }, subscriber);
  return { poller, node, upstream, subscriptions, release, waiting: () => held.length };
}

it('the delivery of logs is in progress until the logs of the newest block are delivered', async () => {
  const { node, subscriptions, release, waiting } = await open();
  expect(subscriptions.deliveryOf('logs')).toBeUndefined();
  node.chain.mine();
  await eventually(() => waiting() === 1);
  const delivery = subscriptions.deliveryOf('logs');
  expect(delivery).toBeDefined();
  expect(subscriptions.deliveryOf('newHeads')).toBeUndefined();
  release();
  await delivery;
  expect(subscriptions.deliveryOf('logs')).toBeUndefined();
});

it('a block that callers were served is delivered when the chain has it, to all but pending transactions', async () => {
  const { poller, node, upstream, subscriptions, release, waiting } = await open();
  const number = node.chain.number + 1n;
  poller.served(upstream, { number }, clock.now());
  const [headers, logs] = [subscriptions.deliveryOf('newHeads'), subscriptions.deliveryOf('logs')];
  expect(subscriptions.deliveryOf('newPendingTransactions')).toBeUndefined();
  expect(headers).toBeDefined();
  node.chain.mine();
  await headers;
  expect(poller.view.head?.number).toBe(number);
  let areDelivered = false;
  void logs?.then(() => (areDelivered = true));
  await eventually(() => waiting() === 1);
  expect(areDelivered).toBe(false);
  release();
  await logs;
});
