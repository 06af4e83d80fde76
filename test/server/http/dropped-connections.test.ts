import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, it, onTestFinished } from 'vitest';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode } from '../../support/fake-node.ts';
import { network, startGateway } from '../../support/gateway.ts';
import { openRaw } from './raw-connection.ts';

const REQUESTS = 1_000;

it('of a connection that is closed because it pipelines too much, the rest of the read is not parsed', async () => {
  const node = await startFakeNode({ chainId: 5 });
  const gateway = await startGateway({ main: network(5, [node.url]) }, { BODIES_MAX_BYTES: '100000' });
  let parsed = 0;
  const count = (): void => {
    parsed++;
  };
  subscribe('http.server.request.start', count);
  onTestFinished(async () => {
    unsubscribe('http.server.request.start', count);
    await gateway.stop();
    await node.close();
  });
  const closed = async () =>
    (await readMetrics(gateway.address)).value('gatehouse_memory_rejections_total', { reason: 'connection' }) ?? 0;
  const before = await closed();
  parsed = 0;
  const connection = await openRaw(gateway.gateway.port);
  // One write, which the gateway reads at once.
  connection.send('GET /openrpc.json HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(REQUESTS));
  await eventually(async () => (await closed()) > before);
  connection.destroy();
  expect(parsed).toBeGreaterThan(5);
  expect(parsed).toBeLessThan(REQUESTS / 2);
});
