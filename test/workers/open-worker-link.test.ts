import { afterEach, expect, it } from 'vitest';
import { openLog } from '../../gateway/config/log.ts';
import { openWorkerLink } from '../../gateway/workers/open-worker-link.ts';
import { simulateTime } from '../support/simulate-time.ts';

// No message goes to the process that runs the tests.
simulateTime();

const before = {
  connected: Object.getOwnPropertyDescriptor(process, 'connected'),
  listeners: { message: process.listeners('message'), disconnect: process.listeners('disconnect') },
};
afterEach(() => {
  for (const added of process.listeners('message').filter((one) => !before.listeners.message.includes(one)))
    process.off('message', added);
  for (const added of process.listeners('disconnect').filter((one) => !before.listeners.disconnect.includes(one)))
    process.off('disconnect', added);
});

it.each([
  ['has ended before the worker listens to it', false, 1],
  ['runs', true, 0],
])('a worker ends if its primary has ended: one that %s', (_, isConnected, times) => {
  let ends = 0;
  Object.defineProperty(process, 'connected', { value: isConnected, configurable: true });
  const ignore = (): void => undefined;
  openWorkerLink(1, 2, openLog('silent', false), { reload: ignore, stop: ignore, end: () => ends++ });
  // Before any other work of the process: it reports to the test runner over the same connection.
  Reflect.deleteProperty(process, 'connected');
  if (before.connected !== undefined) Object.defineProperty(process, 'connected', before.connected);
  expect(ends).toBe(times);
});
