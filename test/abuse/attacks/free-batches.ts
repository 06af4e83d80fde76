import { sendInTurn } from '../processes/requests.ts';
import type { Target } from './attack.ts';
import type { Traffic } from '../processes/traffic.ts';

/** Connections that each send one batch after the other. */
export const BATCH_LOOPS = 6;
/** Batches of 1,000 that `rate: 1` may have served during an attack, if 1,000 requests cost a few units. */
const MAX_SERVED = 8;

/** Sends a batch of requests that Gatehouse answers or rejects itself, as often as a key with `rate: 1` can. */
export function sendFreeBatches(target: Target, traffic: Traffic, batch: string): void {
  let served = 0;
  const onStatus = (status: string): void => {
    if (status === '200' && ++served > MAX_SERVED) traffic.violation(`more than ${MAX_SERVED} batches with rate: 1`);
  };
  for (let loop = 0; loop < BATCH_LOOPS; loop++) {
    void sendInTurn({ target, traffic, body: () => batch, everyMs: 0, onStatus });
  }
}
