import { expect, it } from 'vitest';
import { openLog } from '../../gateway/config/log.ts';
import type { MessageToWorker } from '../../gateway/workers/messages.ts';
import { Primary } from '../../gateway/workers/primary.ts';
import { simulateTime } from '../support/simulate-time.ts';

simulateTime();

it('the log level that an operator sets at one worker is that of the primary and of all workers', () => {
  const log = openLog('silent');
  const primary = new Primary({ count: 2, env: {}, log });
  const { router } = primary;
  const received: [number, MessageToWorker][] = [];
  for (const worker of [1, 2]) router.add(worker, (message) => received.push([worker, message]));
  const request = { kind: 'request', id: undefined, to: 'primary', topic: 'log-level' } as const;
  router.received(1, { ...request, body: 'error', wait: Infinity });
  expect(log.level).toBe('error');
  const levels = received.flatMap(([worker, message]) =>
    message.kind === 'request' ? [[worker, message.topic, message.body]] : [],
  );
  expect(levels).toEqual([
    [1, 'log-level', 'error'],
    [2, 'log-level', 'error'],
  ]);
});
