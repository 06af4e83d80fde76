import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { HttpUpstream } from '../../../gateway/upstreams/transport/http-upstream.ts';
import { startFakeNode } from '../../support/fake-node.ts';

const CONNECTIONS = 20;
const BODY_BYTES = 1_000_000;

it('a connection does not keep the body of its last response', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const bytes = (): number => {
    collect();
    return process.memoryUsage().arrayBuffers;
  };
  const responses = { eth_getCode: `0x${'00'.repeat(BODY_BYTES / 2)}`, eth_chainId: '0x7' };
  const node = await startFakeNode({ chainId: 7, responses });
  const options = { url: node.url, headers: {}, connections: CONNECTIONS, responseMaxBytes: 2 * BODY_BYTES };
  const upstream = new HttpUpstream(options);
  onTestFinished(async () => {
    await upstream.close();
    await node.close();
  });
  const receive = async (method: string): Promise<number[]> =>
    Promise.all(
      Array.from({ length: CONNECTIONS }, async (_, id) => {
        const body = JSON.stringify({ jsonrpc: '2.0', id, method, params: [] });
        return (await upstream.post({ body, deadline: Infinity }, undefined)).body.length;
      }),
    );
  await receive('eth_chainId');
  const before = bytes();
  const received = await receive('eth_getCode');
  expect(Math.min(...received)).toBeGreaterThan(BODY_BYTES);
  expect(node.connections()).toHaveLength(CONNECTIONS);
  // Memory is freed some time after the collection.
  await expect.poll(() => bytes() - before).toBeLessThan((CONNECTIONS * BODY_BYTES) / 4);
});
