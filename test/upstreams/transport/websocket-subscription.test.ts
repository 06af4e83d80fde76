import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { clock } from '../../../gateway/clock/clock.ts';
import { Secrets } from '../../../gateway/upstreams/transport/credentials.ts';
import {
  openSubscription,
  type SubscriptionLink,
} from '../../../gateway/upstreams/transport/websocket-subscription.ts';
import { WebSocketUpstream } from '../../../gateway/upstreams/transport/websocket-upstream.ts';
import { eventually } from '../../support/eventually.ts';
import { startFakeWebSocketNode } from '../../support/fake-websocket-node.ts';
import { CHAIN_ID } from '../../routing/with-nodes.ts';

/** A subscription at a node, for which the response to one method is held until `release`. */
async function open(heldMethod: string) {
  const node = await startFakeWebSocketNode(CHAIN_ID);
  const upstream = new WebSocketUpstream({ name: 'node', url: node.url, headers: {}, responseMaxBytes: 1_000_000 });
  onTestFinished(async () => {
    await upstream.close();
    await node.stop();
  });
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const link: SubscriptionLink = {
    listen: (listener) => upstream.listen(listener),
    send: async (request) => {
      const response = await upstream.send(request);
      if (request.body.includes(`"${heldMethod}"`)) await released;
      return response;
    },
  };
  const events: string[] = [];
  let id = 0;
  const subscription = openSubscription(
    link,
    {
      chainId: CHAIN_ID,
      params: '["newHeads"]',
      timeoutMs: 1_000,
      secrets: new Secrets({ hosts: [], credentials: ['S3cretOfOurs'] }),
      nextId: () => ++id,
      onOtherChain: () => undefined,
    },
    {
      started: () => void events.push('started'),
      notified: (result) => void events.push(JSON.stringify(result)),
      ended: () => void events.push('ended'),
    },
  );
  const methods = (): string[] => node.calls.map(({ method }) => method);
  await eventually(() => methods().includes(heldMethod));
  return { node, subscription, events, methods, release, upstream };
}

it('a subscription that is closed before the node accepts it is removed at the node', async () => {
  const { node, subscription, events, methods, release } = await open('eth_subscribe');
  subscription.close();
  release();
  await eventually(() => methods().includes('eth_unsubscribe'));
  expect(node.calls.at(-1)?.params).toEqual(['0x1']);
  expect(methods()).toEqual(['eth_chainId', 'eth_subscribe', 'eth_unsubscribe']);
  expect(events).toEqual([]);
});

it('a subscription that is closed before the chain id is checked is not opened', async () => {
  const { events, methods, release, subscription, upstream } = await open('eth_chainId');
  subscription.close();
  release();
  // The connection keeps the order: an eth_subscribe would be received before this call.
  await setImmediate();
  const body = '{"jsonrpc":"2.0","id":99,"method":"eth_getStorageAt","params":["0x","0x1"]}';
  await upstream.send({ id: 99, body, deadline: clock.now() + 1_000 });
  expect(methods()).toEqual(['eth_chainId', 'eth_getStorageAt']);
  expect(events).toEqual([]);
});

it('a notification is delivered without the upstream’s secrets', async () => {
  const { events, release, node } = await open('eth_subscribe');
  release();
  await eventually(() => events.includes('started'));
  const result = { note: 'at /v2/S3cretOfOurs now' };
  for (const socket of node.sockets) {
    socket.send(
      JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription: '0x1', result } }),
    );
  }
  await eventually(() => events.length === 2);
  expect(events).toEqual(['started', '{"note":"at <upstream> now"}']);
});
