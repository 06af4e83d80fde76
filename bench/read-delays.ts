import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { EventLoopDelays } from './event-loop-delay.ts';

/** Module to be loaded into a process with `--import`. */
export const delayProbe = new URL('event-loop-delay.js', import.meta.url).href;

/** The delays of the event loop since the last call. @param child with the probe, and an `ipc` channel */
export async function readDelays(child: ChildProcess): Promise<EventLoopDelays> {
  const message = once(child, 'message');
  child.send('read');
  const [delays] = (await message) as [EventLoopDelays];
  return delays;
}
