import { expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { asUsual, type Exchange } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import type { FakeNode } from '../support/fake-node.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { withNodes } from './with-nodes.ts';

const CLIENTS = 60;
/** More than the gateway and the clients take on a loaded machine, so that all calls are at the node. */
const WORKING_MS = 500;

it('an upstream that refuses calls gets fewer at once, which the metric and the status show', async () => {
  const { gateway, nodes, request } = await withNodes(1);
  const [node] = nodes as [FakeNode];
  let inProgress = 0;
  node.always(async (exchange: Exchange) => {
    if (inProgress >= 10) {
      exchange.response.writeHead(429).end();
      return;
    }
    inProgress++;
    await scenarioPause(WORKING_MS);
    inProgress--;
    asUsual(exchange);
  }, 'eth_getStorageAt');
  const limit = async (): Promise<number | undefined> =>
    (await readMetrics(gateway.address)).value('gatehouse_upstream_concurrency_limit', { upstream: 'node-0' });
  expect(await limit()).toBe(256);
  let isStopped = false;
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!isStopped) await request();
  });
  await eventually(async () => ((await limit()) ?? Infinity) < 200, 50_000);
  isStopped = true;
  await Promise.all(clients);
  const found = await limit();
  const shown = async (): Promise<number | undefined> => {
    const response = await fetch(`${gateway.address}/test`, { headers: { accept: 'application/json' } });
    const { networks } = (await response.json()) as { networks: { upstreams: { concurrencyLimit?: number }[] }[] };
    return networks[0]?.upstreams[0]?.concurrencyLimit;
  };
  // The status of the network, which is a second old at most: the overview has no limits.
  await eventually(async () => (await shown()) === found);
});
