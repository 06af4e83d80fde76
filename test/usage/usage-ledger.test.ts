import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openLog } from '../../gateway/config/log.ts';
import { FileStore } from '../../gateway/store/file-store.ts';
import { MethodUsage, type Count } from '../../gateway/usage/method-usage.ts';
import { UsageLedger } from '../../gateway/usage/usage-ledger.ts';
import { dayOf, UsageStore, type UsageBatch } from '../../gateway/usage/usage-store.ts';

/** A store that returns the batches that it does not confirm. */
function storeOf(add: (batches: readonly UsageBatch[]) => readonly UsageBatch[]): Pick<UsageStore, 'isUp' | 'add'> {
  return {
    isUp: true,
    add: (batches) => Promise.resolve(add(batches)),
  };
}

const today = (): string => dayOf(Date.now());

it('removes an idle key from the counter without losing its usage', () => {
  const active: Count[] = [];
  const usage = new MethodUsage('test', 'eth_call', (_key, count) => active.push(count));
  usage.add('a', 1, undefined, 10);
  usage.add('a', 1, 'daily', 10);
  for (let time = 0; time < 3; time += 1) usage.removeIdle();
  usage.add('a', 1, undefined, 10);
  expect(active.map((count) => count.take())).toEqual([
    { place: 'test eth_call', calls: 2, units: 2, errors: 0, bytes: 20 },
    { place: 'test eth_call:daily', calls: 1, units: 1, errors: 1, bytes: 10 },
  ]);
});

describe('usage of many keys, in a file', () => {
  const key = (index: number): string => index.toString(16).padStart(12, '0');

  function ledgerOf(keys: number): { ledger: UsageLedger; store: UsageStore; call: () => void } {
    const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-usage-'));
    const file = new FileStore(dataDir, openLog('silent'));
    const store = new UsageStore(file, openLog('silent'));
    const ledger = new UsageLedger(store);
    onTestFinished(async () => {
      await ledger.close();
      await file.close();
      rmSync(dataDir, { recursive: true });
    });
    const usage = ledger.methodUsage('test', 'eth_call');
    return {
      ...{ ledger, store },
      call: () => {
        for (let index = 0; index < keys; index += 1) usage.add(key(index), 1, undefined, 100);
      },
    };
  }

  async function callsOf(store: UsageStore, index: number): Promise<number> {
    return (await store.read(key(index), [today()]))[0]?.calls ?? 0;
  }

  it('is written in parts: keys that wait longest come first', async () => {
    const { ledger, store, call } = ledgerOf(1_500);
    call();
    await ledger.write();
    call();
    expect([await callsOf(store, 0), await callsOf(store, 999), await callsOf(store, 1_000)]).toEqual([1, 1, 0]);
    await ledger.write();
    expect([await callsOf(store, 499), await callsOf(store, 500), await callsOf(store, 1_499)]).toEqual([2, 1, 2]);
    await ledger.write();
    expect([await callsOf(store, 500), await callsOf(store, 999)]).toEqual([2, 2]);
  });

  it('is written in time slices, between which other work runs, and nothing is lost or counted twice', async () => {
    const { ledger, store, call } = ledgerOf(10_000);
    let turns = 0;
    const count = (): void => {
      turns++;
      immediate = setImmediate(count);
    };
    let immediate = setImmediate(count);
    for (let time = 0; time < 5; time += 1) {
      call();
      const writing = ledger.write(Infinity);
      call();
      await writing;
    }
    clearImmediate(immediate);
    // A write in one step needs a turn or two. On a fast machine, a slice has more keys.
    expect(turns).toBeGreaterThan(20);
    await ledger.write(Infinity);
    expect([await callsOf(store, 0), await callsOf(store, 5_000), await callsOf(store, 9_999)]).toEqual([10, 10, 10]);
  });
});

it('writes each second', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  let written = 0;
  const ledger = new UsageLedger(
    storeOf((batches) => {
      written += batches.length;
      return [];
    }),
  );
  onTestFinished(() => ledger.close());
  ledger.methodUsage('test', 'eth_call').add('k', 1, undefined, 1);
  await vi.advanceTimersByTimeAsync(999);
  expect(written).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(written).toBe(1);
});

it('writes unconfirmed batches again before new ones, and each day separately', async () => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1, 23, 59), toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const written: string[][] = [];
  const confirmations = [false, false, true, true, true];
  const store = storeOf((batches) => {
    written.push(batches.map(({ day, number }) => `${day}/${number}`));
    return confirmations.shift() === true ? [] : batches;
  });
  const ledger = new UsageLedger(store);
  onTestFinished(() => ledger.close());
  const usage = ledger.methodUsage('test', 'eth_call');
  for (const minutes of [0, 0, 2, 0]) {
    vi.setSystemTime(Date.now() + minutes * 60_000);
    usage.add('k', 1, undefined, 1);
    await ledger.write();
  }
  const [old, next, latest] = ['2026-01-01/1', '2026-01-01/2', '2026-01-02/3'];
  expect(written).toEqual([[old], [old], [old], [next], [latest]]);
});
