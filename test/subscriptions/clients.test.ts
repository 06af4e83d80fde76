import { WebSocketProvider, type Block, type Log } from 'ethers';
import { createPublicClient, webSocket, type Hex } from 'viem';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LogsBloom } from '../../gateway/chain/logs/logs-bloom.ts';
import { eventually } from '../support/eventually.ts';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { socketUrl } from '../server/websocket/caller.ts';

let anvil: Anvil;
let gateway: TestGateway;

beforeAll(async () => {
  anvil = await startAnvil();
  // As in production: calls over HTTP, subscriptions over WebSocket.
  const upstreams = [{ name: 'anvil', url: anvil.url, websocketUrl: anvil.url.replace('http', 'ws') }];
  gateway = await startGateway({ local: { ...network(1337, []), upstreams } });
});
afterAll(async () => {
  await gateway.stop();
  await anvil.stop();
});

async function callAnvil(method: string, params: unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(anvil.url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
  return ((await response.json()) as { result: unknown }).result;
}

/** A transaction with a log, in a block of its own. Waits until anvil has mined it. */
async function setCounter(): Promise<string> {
  const { caller, counter } = anvil.chain;
  const transaction = { from: caller, to: counter.address, data: counter.calls.set };
  const hash = await callAnvil('eth_sendTransaction', [transaction]);
  await eventually(async () => (await callAnvil('eth_getTransactionReceipt', [hash])) !== null);
  return String(hash);
}

it('ethers receives blocks, logs and pending transactions', async () => {
  const provider = new WebSocketProvider(socketUrl(gateway, 'local'));
  const [blocks, logs, pending]: [number[], Log[], string[]] = [[], [], []];
  await provider.on('block', (number: number) => blocks.push(number));
  await provider.on({ address: anvil.chain.counter.address }, (log: Log) => logs.push(log));
  await provider.on('pending', (hash: string) => pending.push(hash));
  // ethers does not wait for the responses to its subscriptions. This call follows them on the same socket.
  await provider.getBlockNumber();
  await provider.send('net_version', []);
  await eventually(async () => (await subscriptions()) === 3);
  const before = await provider.getBlockNumber();
  const hashes = [await setCounter(), await setCounter()];
  await eventually(() => logs.length === 2 && pending.length === 2 && blocks.includes(before + 2));
  expect(logs.map(({ transactionHash }) => transactionHash)).toEqual(hashes);
  expect(pending).toEqual(hashes);
  expect(blocks.filter((number) => number > before)).toEqual([before + 1, before + 2]);
  await provider.destroy();
});

it('viem watches blocks, events and pending transactions', async () => {
  await eventually(async () => (await subscriptions()) === 0);
  const transport = webSocket(socketUrl(gateway, 'local'), { retryCount: 0, reconnect: false });
  const viem = createPublicClient({ transport });
  const [blocks, logs, pending]: [(bigint | null)[], (Hex | null)[], Hex[]] = [[], [], []];
  const stops = [
    viem.watchBlocks({ onBlock: ({ number }) => blocks.push(number) }),
    viem.watchEvent({
      address: anvil.chain.counter.address as Hex,
      onLogs: (events) => logs.push(...events.map(({ transactionHash }) => transactionHash)),
    }),
    viem.watchPendingTransactions({ onTransactions: (hashes) => pending.push(...hashes) }),
  ];
  await eventually(async () => (await subscriptions()) === 3);
  const before = await viem.getBlockNumber({ cacheTime: 0 });
  const hashes = [await setCounter(), await setCounter()];
  await eventually(() => logs.length === 2 && pending.length === 2 && blocks.includes(before + 2n));
  expect(logs).toEqual(hashes);
  expect(pending).toEqual(hashes);
  // viem requests each block that it is notified of, and the responses may come in another order.
  const added = blocks.filter((number) => number !== null && number > before);
  expect(new Set(added)).toEqual(new Set([before + 1n, before + 2n]));
  expect(added).toHaveLength(2);
  for (const stop of stops) stop();
  await eventually(async () => (await subscriptions()) === 0);
  const { socket } = (await viem.transport.getRpcClient()) as { socket: { close(): void } };
  socket.close();
});

it('the bloom filter of a real block matches its logs and no others', async () => {
  const hash = await setCounter();
  const receipt = (await callAnvil('eth_getTransactionReceipt', [hash])) as { logs: Log[]; blockHash: string };
  const { logsBloom } = (await callAnvil('eth_getBlockByHash', [receipt.blockHash, false])) as Block & {
    logsBloom: string;
  };
  const [log] = receipt.logs as [Log];
  const bloom = new LogsBloom(logsBloom);
  expect(bloom.isEmpty).toBe(false);
  expect(bloom.mayContain(log)).toBe(true);
  expect(bloom.mayContain({ address: anvil.chain.gate.address, topics: log.topics })).toBe(false);
  expect(bloom.mayMatch({ addresses: new Set([log.address]), topics: [undefined] })).toBe(true);
  expect(bloom.mayMatch({ addresses: new Set([anvil.chain.gate.address]), topics: [] })).toBe(false);
});

async function subscriptions(): Promise<number> {
  const text = await (await fetch(`${gateway.address}/metrics`)).text();
  const open = [...text.matchAll(/^gatehouse_subscriptions_open\{.*\} (\d+)$/gm)];
  return open.reduce((sum, [, count]) => sum + Number(count), 0);
}
