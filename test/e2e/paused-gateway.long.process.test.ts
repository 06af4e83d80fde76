import { expect, it, onTestFinished } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { word } from '../routing/with-nodes.ts';
import { requests, storage } from '../upstreams/transport/with-batches.ts';
import { Workplace } from './gateway-process.ts';

it('a gateway that is stopped for 250 ms three times goes on to send batches of 100 in few requests', async () => {
  const node = await startFakeNode({ chainId: 1, responses: { eth_getStorageAt: word(1) } });
  const place = new Workplace().withNetworks({
    main: { chainId: 1, name: 'Main', failsafe: { hedgeAfterMs: 'off' }, upstreams: [{ name: 'node', url: node.url }] },
  });
  onTestFinished(async () => {
    await place.close();
    await node.close();
  });
  const key = await place.addKey();
  const { address, signal } = await place.start({ LOG_LEVEL: 'silent', NODE_ENV: 'production', WORKERS: '1' });
  const positions = storage(24 * 200);
  const send = async (at: number): Promise<unknown> => {
    const calls = positions.slice(at * 100, (at + 1) * 100);
    const body = JSON.stringify(calls.map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params })));
    return (await fetch(`${address}/main/v3/${key}`, { method: 'POST', body })).json();
  };
  for (let wave = 0; wave < 24; wave++) {
    const sent = [send(2 * wave), send(2 * wave + 1)];
    if ([4, 8, 12].includes(wave)) {
      signal('SIGSTOP');
      await scenarioPause(250);
      signal('SIGCONT');
    }
    for (const responses of await Promise.all(sent)) expect(responses).toHaveLength(100);
  }
  // 10 and the comparisons with single calls.
  expect(requests(node).length / 48).toBeLessThanOrEqual(20);
  const { value } = await readMetrics(address);
  expect(value('gatehouse_upstream_batches_off', { upstream: 'node' })).toBe(0);
});
