import { PerformanceObserver } from 'node:perf_hooks';
import { expect, it, vi } from 'vitest';
import { network, startGateway } from '../support/gateway.ts';

it('a gateway that has stopped observes the garbage collection no longer', async () => {
  const start = async (): Promise<void> => {
    await (await startGateway({ eth: network(1, ['http://127.0.0.1:9']) })).stop();
  };
  // What is observed once for the process.
  await start();
  const begun = vi.spyOn(PerformanceObserver.prototype, 'observe');
  const ended = vi.spyOn(PerformanceObserver.prototype, 'disconnect');
  for (let times = 0; times < 3; times++) await start();
  expect(begun).toHaveBeenCalled();
  expect(ended).toHaveBeenCalledTimes(begun.mock.calls.length);
});
