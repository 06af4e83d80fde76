import { expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { ScriptedChain } from '../chain/scripted-chain.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network, startGateway } from '../support/gateway.ts';
import { runCommand } from '../support/run-command.ts';
import { account, callThroughCache, followCache, responseOf } from './follow-cache.ts';
import { folderOfTest, openDisk } from './open-disk.ts';

const atFinal = [account, '0x0', '0x64'];
const word = `0x${'7'.repeat(64)}`;
const neverAsked = (): Promise<never> => Promise.reject(new Error('the test expects no upstream request'));

it('a permanently valid result survives a restart', async () => {
  const dataDir = folderOfTest();
  const chain = new ScriptedChain({ from: 100 });
  const before = openDisk(dataDir);
  const one = await followCache({ finalized: 100, durable: before.disk, chain });
  await callThroughCache(one.cacheOf('eth_getStorageAt'), atFinal, () => Promise.resolve(responseOf(word)));
  await eventually(() => before.outcomes['written'] === 1);
  await before.disk.close();

  const { disk } = openDisk(dataDir);
  const other = await followCache({ finalized: 100, durable: disk, chain: chain.copy() });
  const found = await callThroughCache(other.cacheOf('eth_getStorageAt'), atFinal, neverAsked);
  expect(found).toEqual({ kind: 'cached', result: `"${word}"` });
  expect(other.counted).toMatchObject({ disk: 1, miss: 0 });
});

it('results of a chain that was wiped meanwhile are not found', async () => {
  const dataDir = folderOfTest();
  const before = openDisk(dataDir);
  const one = await followCache({ finalized: 100, durable: before.disk });
  await callThroughCache(one.cacheOf('eth_getStorageAt'), atFinal, () => Promise.resolve(responseOf(word)));
  await eventually(() => before.outcomes['written'] === 1);
  await before.disk.close();

  const { disk } = openDisk(dataDir);
  const other = await followCache({
    finalized: 100,
    durable: disk,
    chain: new ScriptedChain({ from: 100 }),
  });
  const request = (): Promise<ReturnType<typeof responseOf>> => Promise.resolve(responseOf('0x1'));
  expect(await callThroughCache(other.cacheOf('eth_getStorageAt'), atFinal, request)).toEqual({
    kind: 'cached',
    result: '"0x1"',
  });
});

it('`cache clear` removes the results of a network, and a gateway in use finds none of them', async () => {
  const dataDir = folderOfTest();
  const { disk, outcomes } = openDisk(dataDir);
  const { cacheOf, final } = await followCache({ finalized: 100, durable: disk });
  const storage = cacheOf('eth_getStorageAt');
  await callThroughCache(storage, atFinal, () => Promise.resolve(responseOf(word)));
  await eventually(() => outcomes['written'] === 1);
  const { generation } = final;
  const clear = (...args: string[]) =>
    runCommand(['cache', 'clear', ...args], { env: { DATA_DIR: dataDir }, folder: dataDir });
  expect((await clear('other')).stdout).toBe('The cached responses of 0 networks are forgotten\n');
  expect((await clear('--json', 'test')).stdout).toBe('{"networks":1}\n');
  await eventually(() => {
    // As after 30 s.
    final.isChecked(clock.now() + 60_000);
    return final.generation !== generation;
  });
  const again = await callThroughCache(storage, atFinal, () => Promise.resolve(responseOf('0x1')));
  expect(again).toEqual({ kind: 'cached', result: '"0x1"' });
});

it('a gateway that was restarted serves old blocks without its upstream', async () => {
  const dataDir = folderOfTest();
  const chain = new ScriptedChain({ from: 100 });
  const node = await startFakeNode({ chainId: 5, responses: { eth_getStorageAt: word } });
  node.response('eth_getBlockByNumber', ([which]: [string]) => chain.byNumber(which === 'finalized' ? '0x64' : which));
  const call = async (): Promise<{ requests: number; metrics: string }> => {
    const gateway = await startGateway({ main: network(5, [node.url]) }, { DATA_DIR: dataDir });
    try {
      // Until the final block is known.
      await eventually(async () => {
        const before = node.callsOf('eth_getStorageAt').length;
        expect((await gateway.call('main', 'eth_getStorageAt', atFinal)).result).toBe(word);
        return node.callsOf('eth_getStorageAt').length === before;
      });
      const metrics = await (await fetch(`${gateway.address}/metrics`)).text();
      return { requests: node.callsOf('eth_getStorageAt').length, metrics };
    } finally {
      await gateway.stop();
    }
  };
  const first = await call();
  const second = await call();
  const lookups = second.metrics.split('\n').filter((line) => line.startsWith('gatehouse_cache_lookups_total{'));
  expect(lookups.filter((line) => line.includes('disk'))).toEqual([expect.stringMatching(/ 1$/)]);
  expect(second.requests - first.requests).toBe(0);
});
