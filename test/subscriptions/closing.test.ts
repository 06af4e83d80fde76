import { expect, it, onTestFinished } from 'vitest';
import type { PermissionChange } from '../../gateway/auth/stores/key-store.ts';
import { digestOf, keyIdOf } from '../../gateway/auth/formats/key.ts';
import { eventually } from '../support/eventually.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { chainNetwork, startChainNode, type ChainNode } from './chain-node.ts';
import { addressOf, hashOf, ScriptedChain } from './scripted-chain.ts';
import { openSubscriber, type Subscriber } from './subscriber.ts';

const allowed = addressOf('allowed');

interface Parts {
  readonly node: ChainNode;
  readonly chain: ScriptedChain;
  readonly gateway: TestGateway;
  readonly subscriber: Subscriber;
  readonly setPermissions: (change: PermissionChange) => Promise<void>;
}

/** Everything is stopped when the test ends. */
async function start(env: Record<string, string> = {}): Promise<Parts> {
  const chain = new ScriptedChain();
  const node = await startChainNode(7, chain);
  const gateway = await startGateway({ seven: chainNetwork(7, [node]) }, env);
  const subscriber = await openSubscriber(gateway, 'seven');
  onTestFinished(async () => {
    subscriber.caller.socket.terminate();
    await gateway.stop();
    await node.stop();
  });
  const setPermissions = async (change: PermissionChange): Promise<void> => {
    await gateway.gateway.keys.update(keyIdOf(digestOf(gateway.key)), change);
  };
  return { node, chain, gateway, subscriber, setPermissions };
}

const rejection = { code: -32002, message: 'rejected due to project ID settings' };

it('a key with contract permissions can subscribe to the logs of these contracts and to blocks', async () => {
  const { chain, gateway, subscriber, setPermissions } = await start();
  await setPermissions({ contracts: allowed });
  const errorOf = async (...params: unknown[]): Promise<unknown> =>
    (await subscriber.call('eth_subscribe', params)).error;
  // Waits for the permissions with another method: with an open subscription, the change would close the socket.
  const other = addressOf('other');
  await expect.poll(async () => (await subscriber.call('eth_getCode', [other])).error).toEqual(rejection);
  expect(await errorOf('logs', {})).toEqual(rejection);
  expect(await errorOf('logs', { address: other })).toEqual(rejection);
  expect(await errorOf('logs', { address: [allowed, other] })).toEqual(rejection);
  expect(await errorOf('logs', { address: [] })).toEqual(rejection);
  const logs = await subscriber.subscribe('logs', { address: allowed.replace('a', 'A') });
  await subscriber.subscribe('newHeads');
  const [log] = chain.mine([{ address: allowed, topics: [hashOf('t')] }]).logs;
  await eventually(() => logs.length === 1);
  expect(logs).toEqual([log]);
  expect((await readMetrics(gateway.address)).value('gatehouse_notifications_total', { kind: 'logs' })).toBe(1);
});

it.each<[string, PermissionChange, { code: number; reason: string }]>([
  ['contracts', { contracts: addressOf('another') }, { code: 1008, reason: rejection.message }],
  ['methods', { methods: 'eth_unsubscribe,net' }, { code: 1008, reason: rejection.message }],
  ['time', { expiresAt: '2020-01-01T00:00:00Z' }, { code: 1008, reason: 'invalid project id' }],
])('a change of a key’s %s that forbids an open subscription closes the socket', async (_, change, end) => {
  const { subscriber, setPermissions } = await start();
  await subscriber.subscribe('logs', { address: allowed });
  await setPermissions(change);
  expect(await subscriber.caller.closed).toEqual(end);
});

/** Delays the head, for which `eth_subscribe` waits. @returns a function that releases it */
function delayHead(node: ChainNode, chain: ScriptedChain): () => void {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const { eth_getBlockByNumber: response } = chain.responses() as Record<
    string,
    (params: readonly unknown[]) => unknown
  >;
  node.response('eth_getBlockByNumber', async (params) => {
    await released;
    return response?.(params);
  });
  return release;
}

it('permissions that change while a subscription is opened apply to it', async () => {
  const { chain, node, gateway, subscriber, setPermissions } = await start();
  const release = delayHead(node, chain);
  const response = subscriber.call('eth_subscribe', ['newHeads']);
  await eventually(() => node.callsOf('eth_getBlockByNumber').length > 0);
  await setPermissions({ methods: 'net' });
  await expect.poll(async () => (await subscriber.call('eth_chainId', [])).error).toEqual(rejection);
  release();
  expect((await response).error).toEqual(rejection);
  expect((await readMetrics(gateway.address)).value('gatehouse_subscriptions_open', { kind: 'newHeads' }) ?? 0).toBe(0);
});

it('a batch whose responses exceed the limit still returns the id of its subscription', async () => {
  const { gateway, chain, node, subscriber } = await start({ batchResponseMaxBytes: '500' });
  const release = delayHead(node, chain);
  node.response('eth_getCode', async () => {
    // The subscription is being opened.
    await eventually(() => node.callsOf('eth_getBlockByNumber').length > 0);
    return `0x${'ab'.repeat(1_000)}`;
  });
  const { socket } = subscriber.caller;
  socket.removeAllListeners('message');
  const batchResponse = new Promise<string>((resolve) => {
    socket.once('message', (data) => {
      resolve((data as Buffer).toString());
    });
  });
  const batch = [
    { jsonrpc: '2.0', id: 1, method: 'eth_getCode', params: [allowed, 'latest'] },
    { jsonrpc: '2.0', id: 2, method: 'eth_subscribe', params: ['newHeads'] },
  ];
  subscriber.caller.send(JSON.stringify(batch));
  await eventually(() => node.callsOf('eth_getCode').length > 0);
  await eventually(
    async () =>
      (await readMetrics(gateway.address)).value('gatehouse_upstream_attempts_total', { outcome: 'response' }) !==
      undefined,
  );
  release();
  expect(JSON.parse(await batchResponse)).toMatchObject([
    { id: 1, error: { code: -32005 } },
    { id: 2, result: expect.stringMatching(/^0x/) as string },
  ]);
});

it('revoking a key closes its sockets', async () => {
  const { gateway, subscriber } = await start();
  await subscriber.subscribe('newHeads');
  await gateway.gateway.keys.revoke(keyIdOf(digestOf(gateway.key)));
  expect(await subscriber.caller.closed).toEqual({ code: 1008, reason: 'invalid project id' });
  const open = async (): Promise<unknown> =>
    (await readMetrics(gateway.address)).value('gatehouse_subscriptions_open', { kind: 'newHeads' });
  await eventually(async () => (await open()) === 0);
});

it('a draining gateway closes subscriptions with 1012', async () => {
  const { gateway, subscriber } = await start();
  await subscriber.subscribe('newHeads');
  await gateway.gateway.drain();
  expect(await subscriber.caller.closed).toEqual({ code: 1012, reason: 'service restart' });
});

it('viem’s keep-alive gets its response between notifications', async () => {
  const { chain, subscriber } = await start();
  const notifications = await subscriber.subscribe('newHeads');
  chain.mine();
  const responses: unknown[] = [];
  subscriber.caller.socket.on('message', (data) => {
    const message = JSON.parse((data as Buffer).toString()) as { id?: unknown };
    if (message.id === null) responses.push(message);
  });
  subscriber.caller.send('{"jsonrpc":"2.0","id":null,"method":"net_version","params":[]}');
  await eventually(() => responses.length === 1 && notifications.length === 1);
  expect(responses).toEqual([{ jsonrpc: '2.0', id: null, result: '7' }]);
});

it('a slow reader is disconnected with bounded memory, and other subscribers lose nothing', async () => {
  const { chain, gateway, subscriber } = await start();
  const slowReader = await openSubscriber(gateway, 'seven');
  for (let round = 0; round < 40; round++) await slowReader.subscribe('logs', {});
  const logs = await subscriber.subscribe('logs', {});
  slowReader.caller.socket.pause();
  const topics = ['t', 'u', 'v', 'w'].map(hashOf);
  const mine = async (count: number): Promise<void> => {
    const before = logs.length;
    chain.mine(Array.from({ length: count }, () => ({ address: allowed, topics })));
    await eventually(() => logs.length === before + count);
  };
  // 40 × 200 logs of 800 bytes a block: more than the socket buffers of the machine, and 4 MB of unread bytes.
  for (let blocks = 0; blocks < 3; blocks++) await mine(200);
  await eventually(
    async () =>
      (await readMetrics(gateway.address)).value('gatehouse_websockets_closed_total', { reason: 'slow-reader' }) === 1,
  );
  await mine(1);
  await eventually(async () => (await readMetrics(gateway.address)).value('gatehouse_buffered_bytes') === 0);
  slowReader.caller.socket.terminate();
});
