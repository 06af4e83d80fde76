import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';

/** Measures of a gateway process: memory after a garbage collection, and event loop delay since the measurement before. */
export interface Measures {
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly externalBytes: number;
  readonly delayP50Ms: number;
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
}

/** Socket at which a process of `measured-gateway.ts` serves its measures. */
export function measuresSocket(dataDir: string, pid: number): string {
  return join(dataDir, `measures-${pid}`);
}

export async function readMeasures(dataDir: string, pid: number): Promise<Measures> {
  const sent = request({ socketPath: measuresSocket(dataDir, pid), agent: false }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return (await json(response)) as Measures;
}
