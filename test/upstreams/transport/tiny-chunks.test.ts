import { EventEmitter, once } from 'node:events';
import { expect, it, vi } from 'vitest';
import { Deadlines } from '../../../gateway/admission/deadlines.ts';
import { HttpExchange, type HttpResponse } from '../../../gateway/upstreams/transport/http-exchange.ts';

/** More than one turn of the event loop takes on any machine. */
const CHUNKS = 1_000_000;

it('a response in tiny chunks is read in turns of the event loop, and is complete', async () => {
  let hasPaused = false;
  const resumed = new EventEmitter();
  const controller = {
    ...{ aborted: false, paused: false, reason: null },
    pause: () => (hasPaused = true),
    resume: () => {
      resumed.emit('resumed');
    },
    abort: () => undefined,
  };
  const bounds = { responseMaxBytes: CHUNKS };
  const resolve = vi.fn<(response: HttpResponse) => void>();
  const exchange = new HttpExchange(resolve, vi.fn(), bounds, { deadline: Infinity }, new Deadlines(), undefined);
  exchange.onRequestStart(controller);
  exchange.onResponseStart(controller, 200, {});
  const chunk = Buffer.from('x');
  let chunks = 0;
  const isReading = (): boolean => !hasPaused && chunks++ < CHUNKS;
  while (isReading()) exchange.onResponseData(controller, chunk);
  expect(hasPaused).toBe(true);
  await once(resumed, 'resumed');
  exchange.onResponseEnd();
  expect(resolve.mock.calls[0]?.[0].body.toString()).toBe('x'.repeat(chunks));
});
