import { monitorEventLoopDelay } from 'node:perf_hooks';
import '../gateway/main.ts';

/**
 * The gateway's own process, which tells of itself when its parent asks: memory after a collection (`--expose-gc`), and
 * how late its event loop was since the last time.
 */
export interface Measures {
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly externalBytes: number;
  readonly delayP50Ms: number;
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
}

const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();

process.on('message', () => {
  const told = { delayP50Ms: delay.percentile(50), delayP99Ms: delay.percentile(99), delayMaxMs: delay.max };
  globalThis.gc?.();
  delay.reset();
  const { rss, heapUsed, external } = process.memoryUsage();
  process.send?.({
    rssBytes: rss,
    heapBytes: heapUsed,
    externalBytes: external,
    ...Object.fromEntries(Object.entries(told).map(([name, nanoseconds]) => [name, nanoseconds / 1e6])),
  });
});
