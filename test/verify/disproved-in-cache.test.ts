import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { serveSums } from '../../gateway/limits/machine-sums.ts';
import { MachineSlots } from '../../gateway/workers/machine-slots.ts';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { eventually } from '../support/eventually.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { LinkedWorkers } from '../workers/linked-workers.ts';
import { startLyingNode, type LyingNode } from './lying-node.ts';
import { withVerification } from './with-verification.ts';

const CHAIN_ID = 1339;
let anvil: Anvil;

beforeAll(async () => {
  anvil = await startAnvil({ chainId: CHAIN_ID });
});
afterAll(() => anvil.stop());

const method = 'eth_getTransactionReceipt';
const lie = (receipt: object): object => ({ ...receipt, status: '0x0' });

/** The status in a receipt. @param key default: that of the gateway, whose results are not verified */
async function statusOf(gateway: TestGateway, hash: string, key = gateway.key): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [hash] });
  const response = await fetch(`${gateway.address}/test/v3/${key}`, { method: 'POST', body });
  return ((await response.json()) as { result?: { status: unknown } | null }).result?.status;
}

/** Adds a key whose results are proven. */
async function addStrictKey({ gateway }: TestGateway): Promise<string> {
  const strict = makeKey();
  const permissions = { verify: 'enforce' };
  await gateway.keys.add(digestOf(strict), { name: 'a', createdAt: new Date().toISOString(), permissions });
  return strict;
}

/** Sends the call until its result is cached, as it is once the gateway follows its block. */
async function cache(gateway: TestGateway, nodes: readonly LyingNode[], hash: string, status: string): Promise<void> {
  const sent = (): number => nodes.flatMap(({ methods }) => methods.filter((one) => one === method)).length;
  await eventually(async () => {
    const before = sent();
    expect(await statusOf(gateway, hash)).toBe(status);
    return sent() === before;
  });
}

it('a result of an upstream leaves the memory cache once another result of it for the method is disproved', async () => {
  const { gateway, nodes } = await withVerification(CHAIN_ID, [anvil.url, anvil.url, anvil.url], {});
  const strict = await addStrictKey(gateway);
  const { setTransaction, transferTransaction } = anvil.chain;
  nodes[0]?.lie(method, lie);
  await cache(gateway, nodes, setTransaction, '0x0');
  expect(await statusOf(gateway, setTransaction, strict)).toBe('0x1');
  expect(await statusOf(gateway, setTransaction)).toBe('0x1');

  // The others have no receipts for some time, so that calls reach the marked upstream.
  const setOthers = (other: (() => null) | undefined): void => {
    for (const node of nodes.slice(1)) node.lie(method, other);
  };
  setOthers(() => null);
  await cache(gateway, nodes, transferTransaction, '0x0');
  await statusOf(gateway, transferTransaction, strict);
  setOthers(undefined);
  expect(await statusOf(gateway, transferTransaction)).toBe('0x1');
});

it('it leaves that of the other workers, too', async () => {
  const workers = new LinkedWorkers();
  serveSums(workers.router);
  new MachineSlots(workers.router, 2).serve();
  workers.router.on('workers', () => ({ running: 2, ends: {} }));
  const nodes = await Promise.all([anvil.url, anvil.url, anvil.url].map(startLyingNode));
  const urls = nodes.map(({ url }) => url);
  const options = { methods: ['eth'], failsafe: { hedgeAfterMs: 'off' } };
  const open = (id: number): Promise<TestGateway> =>
    startGateway({ test: network(CHAIN_ID, urls, options) }, {}, undefined, workers.open(id));
  const [first, second] = [await open(1), await open(2)];
  onTestFinished(async () => {
    await Promise.all([first, second].map((gateway) => gateway.stop()));
    await Promise.all(nodes.map((node) => node.close()));
  });
  const strict = await addStrictKey(first);
  const { setTransaction: hash } = anvil.chain;
  nodes[0]?.lie(method, lie);
  await cache(second, nodes, hash, '0x0');
  expect(await statusOf(first, hash, strict)).toBe('0x1');
  nodes[0]?.lie(method, undefined);
  await eventually(async () => (await statusOf(second, hash)) === '0x1', 3_000);
});
