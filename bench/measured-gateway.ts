import { createServer } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import '../gateway/main.ts';
import { measuresSocket, type Measures } from './measures.ts';

/** Runs the gateway with `--expose-gc`. This process, and each worker, serves its measures. */
const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();

function measure(): Measures {
  const [delayP50Ms, delayP99Ms, delayMaxMs] = [
    delay.percentile(50) / 1e6,
    delay.percentile(99) / 1e6,
    delay.max / 1e6,
  ];
  globalThis.gc?.();
  delay.reset();
  const { rss: rssBytes, heapUsed: heapBytes, external: externalBytes } = process.memoryUsage();
  return { rssBytes, heapBytes, externalBytes, delayP50Ms, delayP99Ms, delayMaxMs };
}

const path = measuresSocket(process.env['DATA_DIR'] ?? '', process.pid);
// Workers would share a socket that is not exclusive.
createServer((_, response) => response.end(JSON.stringify(measure())))
  .listen({ path, exclusive: true })
  .unref();
