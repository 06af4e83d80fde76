import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { network, startGateway } from '../support/gateway.ts';

const NETWORKS = 20;

it('an unused network takes less than half a megabyte', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const bytes = (): number => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const one = { only: network(5, ['http://127.0.0.1:9']) };
  // Allocates what all gateways share.
  await (await startGateway(one)).stop();
  const before = bytes();
  const few = await startGateway(one);
  const withOne = bytes() - before;
  const names = Array.from({ length: NETWORKS + 1 }, (_, index) => [
    `network-${index}`,
    network(5, ['http://127.0.0.1:9']),
  ]);
  const many = await startGateway(Object.fromEntries(names) as Record<string, object>);
  const withMany = bytes() - before - withOne;
  await Promise.all([few.stop(), many.stop()]);
  expect((withMany - withOne) / NETWORKS).toBeLessThan(500_000);
});
