import { onTestFinished } from 'vitest';
import type { PermissionChange } from '../../gateway/auth/stores/key-store.ts';
import { digestOf, keyIdOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

export const storage = ['eth_getStorageAt', [`0x${'ab'.repeat(20)}`, '0x0', 'latest']] as const;
export const estimate = ['eth_estimateGas', [{ to: `0x${'AB'.repeat(20)}` }]] as const;
export const receipt = ['eth_getTransactionReceipt', [`0x${'11'.repeat(32)}`]] as const;

export interface Sent {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** A gateway in front of a node, and its key. */
export interface Limited {
  readonly node: FakeNode;
  readonly gateway: TestGateway;
  /** Id of the gateway's key. */
  readonly id: string;
  readonly digest: string;
  /** Changes the key's permissions, and waits until the gateway has the change. */
  setPermissions(change: PermissionChange): Promise<void>;
  /** Sends one call. */
  send(call: readonly [method: string, params?: unknown], headers?: Record<string, string>): Promise<Sent>;
  /** Sends a batch with ids from 0. */
  batch(calls: readonly (readonly [method: string, params?: unknown])[]): Promise<Sent>;
  /** Number of calls that reached the node. */
  reached(): number;
}

/** Starts a gateway in front of a node. The test sets the permissions of its key. Both stop after the test. */
export async function limited(env: Record<string, string> = {}): Promise<Limited> {
  const node = await startFakeNode({
    chainId: 7,
    responses: {
      eth_getStorageAt: `0x${'0'.repeat(64)}`,
      eth_estimateGas: '0x5208',
      eth_getTransactionReceipt: null,
    },
  });
  const gateway = await startGateway({ test: network(7, [node.url]), other: network(7, [node.url]) }, env);
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
  });
  const digest = digestOf(gateway.key);
  const id = keyIdOf(digest);
  const post = async (body: unknown, headers?: Record<string, string>): Promise<Sent> => {
    const response = await gateway.post('test', JSON.stringify(body), headers);
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
  return {
    node,
    gateway,
    id,
    digest,
    async setPermissions(change) {
      const { keys } = gateway.gateway;
      await keys.update(id, change);
      // Reports arrive in the order of the changes. The first one about the key may be that it was added.
      const last = digestOf(makeKey());
      let isReported = false;
      keys.onChange((changed) => (isReported ||= changed === last));
      await keys.add(last, { name: 'last change', createdAt: new Date().toISOString() });
      await eventually(() => isReported);
    },
    send: ([method, params = []], headers) => post({ jsonrpc: '2.0', id: 1, method, params }, headers),
    batch: (calls) => post(calls.map(([method, params = []], at) => ({ jsonrpc: '2.0', id: at, method, params }))),
    reached: () => node.calls.filter(({ method }) => !['eth_chainId', 'eth_getBlockByNumber'].includes(method)).length,
  };
}
