import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Account } from '../../gateway/admission/account.ts';
import { MemoryGuard } from '../../gateway/memory/memory-guard.ts';
import { MemoryBudget } from '../../gateway/memory/memory-budget.ts';
import { simulateTime } from '../support/simulate-time.ts';

const CHECK_MS = 100;
/** Checks and reliefs come at intervals. In a process with much memory, one collection takes longer. */
const time = simulateTime();
let guard: MemoryGuard | undefined;
/** What was closed. */
const closed: (string | undefined)[] = [];
afterEach(() => {
  guard?.close();
  closed.length = 0;
});
let collect: () => void;
beforeAll(() => {
  setFlagsFromString('--expose-gc');
  collect = runInNewContext('gc') as () => void;
});

const key = (name: string): Account => new Account(name);
const address = new Account('address 192.0.2.1', new Account('address'));

/** A guard of whose limit this process uses a part. */
function open(usedPart: number): MemoryGuard {
  // Buffers are counted as free when the next collection begins.
  for (let count = 0; count < 2; count++) collect();
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  guard = new MemoryGuard(Math.ceil((heap + external) / usedPart));
  guard.addRelief((owner) => closed.push(owner));
  return guard;
}

const admits = (opened: MemoryGuard, account: Account): boolean => {
  try {
    opened.admit(account);
    return true;
  } catch {
    return false;
  }
};

/** Memory that is not garbage, in the test's own hands. */
function held(bytes: number): Buffer {
  return Buffer.alloc(bytes);
}

/** Makes memory high by something that no owner has sent. */
async function becomesHigh(opened: MemoryGuard): Promise<Buffer> {
  const memory = held(Math.floor(opened.limitBytes * 0.3));
  await time().advance(CHECK_MS);
  expect(opened.state).toBe('high');
  return memory;
}

describe('memory that is high by something else', () => {
  it('rejects requests without a key only, if the few keys have sent little', async () => {
    const opened = open(0.5);
    for (const name of ['one', 'two']) opened.weigh(key(name), 2_000);
    const memory = await becomesHigh(opened);
    expect([admits(opened, key('one')), admits(opened, key('two')), admits(opened, address)]).toEqual([
      true,
      true,
      false,
    ]);
    expect(closed).toEqual([undefined]);
    expect(memory.length).toBeGreaterThan(0);
  });

  it('rejects no key if all have sent the same', async () => {
    const opened = open(0.5);
    for (const name of ['one', 'two', 'three']) opened.weigh(key(name), opened.limitBytes / 4);
    const memory = await becomesHigh(opened);
    expect(['one', 'two', 'three'].map((name) => admits(opened, key(name)))).toEqual([true, true, true]);
    expect(memory.length).toBeGreaterThan(0);
  });

  it('rejects the key that has sent most', async () => {
    const opened = open(0.5);
    opened.weigh(key('heavy'), opened.limitBytes / 2);
    opened.weigh(key('light'), 2_000);
    const memory = await becomesHigh(opened);
    expect([admits(opened, key('heavy')), admits(opened, key('light'))]).toEqual([false, true]);
    expect(closed).toEqual(['heavy']);
    expect(memory.length).toBeGreaterThan(0);
  });
});

it('finds that a process uses more than half of its limit by itself', () => {
  const isHighAt = (part: number): boolean => {
    guard?.close();
    guard = new MemoryGuard(process.memoryUsage.rss() / part);
    return guard.isBaselineHigh;
  };
  expect([isHighAt(0.3), isHighAt(0.7)]).toEqual([false, true]);
});

it('closes nothing for Buffers that are garbage', async () => {
  const opened = open(0.6);
  const heavy = key('heavy');
  held(Math.floor(opened.limitBytes * 0.15));
  opened.weigh(heavy, opened.limitBytes / 2);
  for (let checks = 0; checks < 3; checks++) {
    await time().advance(CHECK_MS);
    expect([opened.state, closed]).toEqual(['normal', []]);
  }
});

it('closes nothing while bytes are accounted', async () => {
  const opened = open(0.95);
  const memory = new MemoryBudget({ requestsMax: 1, maxBytes: 1e12, guard: opened });
  memory.take(key('heavy'), opened.limitBytes / 2);
  expect(closed).toEqual([]);
  await time().advance(CHECK_MS);
  expect(closed).toEqual(['heavy']);
});
