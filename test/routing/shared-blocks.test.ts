import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openParts } from '../../bench/gateway-parts.ts';
import { requestUpstreams } from '../../gateway/call/own-calls.ts';
import { clock } from '../../gateway/clock/clock.ts';
import { rpcError, startFakeNode } from '../support/fake-node.ts';
import { shiftClock } from './with-nodes.ts';

/** Sends a call, while the other workers do not learn the served block before the deadline. */
async function sendWhileOthersHang(
  response: unknown,
  method = 'eth_getBalance',
  params: readonly unknown[] = [`0x${'11'.repeat(20)}`, 'latest'],
): Promise<unknown> {
  const node = await startFakeNode({ chainId: 1, responses: { [method]: response } });
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-shared-'));
  const file = { name: 'Test', chainId: 1, upstreams: [{ name: 'a', url: node.url }] };
  writeFileSync(join(folder, 'test.yaml'), JSON.stringify(file));
  const parts = await openParts(folder);
  onTestFinished(async () => {
    await parts.close();
    await node.close();
    rmSync(folder, { recursive: true });
  });
  const network = parts.networks.finder.get('test');
  const spec = network?.methods.get(method)?.spec;
  if (network === undefined || spec === undefined) throw new Error(`${method} is not served`);
  const { router } = network;
  const time = shiftClock({ isRunning: true });
  Object.defineProperties(router.chain, {
    isShared: { value: true },
    whenShared: {
      value: () => {
        time.forward(60_000);
        return new Promise(() => undefined);
      },
    },
  });
  return requestUpstreams(router, 'off', spec, params, clock.now() + 60_000);
}

it('a result whose block other workers do not know at the deadline is not returned', async () => {
  await expect(sendWhileOthersHang('0x5')).rejects.toMatchObject({ reason: 'no-upstream' });
});

it('null is returned at the deadline', async () => {
  const response = await sendWhileOthersHang(null, 'eth_getTransactionByHash', [`0x${'22'.repeat(32)}`]);
  expect(response).toMatchObject({ kind: 'result', result: null });
});

it('an error is returned at the deadline', async () => {
  expect(await sendWhileOthersHang(rpcError(3, 'execution reverted'))).toMatchObject({ kind: 'error' });
});
