import { expect, it, onTestFinished } from 'vitest';
import type { ChainChange } from '../../gateway/heads/canonical-chain.ts';
import { NetworkHeads } from '../../gateway/heads/network-heads.ts';
import { eventually } from '../keys/eventually.ts';
import { startAnvil } from '../support/anvil.ts';

it('follows a real chain', async () => {
  const anvil = await startAnvil();
  const ask = async (method: string, params: unknown[] = []): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const response = await fetch(anvil.url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    return ((await response.json()) as { result: unknown }).result;
  };
  const heads = new NetworkHeads([
    { name: 'a', health: { isUp: true }, resultOf: (method, params) => ask(method, JSON.parse(params) as unknown[]) },
  ]);
  const changes: ChainChange[] = [];
  const stop = heads.watch((change) => changes.push(change));
  onTestFinished(async () => {
    stop();
    await anvil.stop();
  });
  await eventually(() => heads.head !== undefined, 5_000);
  const before = heads.head?.number ?? 0n;
  await ask('anvil_mine', ['0x3']);
  await eventually(() => heads.head?.number === before + 3n, 5_000);
  expect(changes.flatMap(({ added }) => added.map(({ number }) => number - before))).toEqual([1n, 2n, 3n]);
});
