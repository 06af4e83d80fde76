import type { ServerResponse } from 'node:http';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import type { FlowingBytes } from '../../jsonrpc/response.ts';
import { timeSlicer } from '../../jsonrpc/time-slices.ts';
import { waitForDrain } from './write-in-parts.ts';

/**
 * Writes a result as it arrives, and the end of its response. If it fails, the connection ends, so that the client sees an
 * incomplete body. Never rejects.
 * @param owner whose time of the event loop it takes
 * @param onUnread called when the client has not read what is written
 */
export async function writeFlow(
  response: ServerResponse,
  result: FlowingBytes,
  owner: string,
  onUnread: () => void,
): Promise<void> {
  const cancel = (): void => {
    result.cancel();
  };
  response.once('close', cancel);
  const writeNext = (): boolean | undefined => {
    let isDrained = true;
    const bytes = result.next();
    for (const part of bytes ?? []) isDrained = response.write(part);
    return bytes === undefined ? undefined : isDrained;
  };
  try {
    for (;;) {
      const arrival = result.wait();
      if (arrival !== undefined) await arrival;
      const pause = timeSlicer.next();
      if (pause !== undefined) await pause;
      if (response.destroyed) {
        cancel();
        return;
      }
      const isDrained = turnBudget.run(owner, writeNext);
      if (isDrained === undefined) break;
      if (isDrained) continue;
      onUnread();
      await waitForDrain(response);
    }
    response.end('}');
  } catch {
    // The call has recorded the failure.
    response.destroy();
  }
}
