import type { ServerResponse } from 'node:http';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import type { FlowingBytes } from '../../jsonrpc/response.ts';
import { timeSlicer } from '../../jsonrpc/time-slices.ts';
import type { Cancellation } from '../../upstreams/transport/cancellation.ts';
import { waitForDrain } from './write-response.ts';

/**
 * Writes a result as it arrives, and the end of its response. If it fails, the connection ends, so that the client sees an
 * incomplete body. Never rejects.
 * @param caller is cancelled when the connection closes: a response behind others of its connection has no `close` of its own
 * @param owner whose time of the event loop it takes
 * @param onUnread called when the client has not read what is written
 */
export async function writeFlow(
  response: ServerResponse,
  result: FlowingBytes,
  caller: Cancellation,
  owner: string,
  onUnread: () => void,
): Promise<void> {
  const departure = {
    cancellationPlace: -1,
    cancel: () => {
      result.cancel();
    },
  };
  caller.add(departure);
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
      if (response.destroyed || caller.isCancelled) {
        result.cancel();
        return;
      }
      const isDrained = turnBudget.run(owner, writeNext);
      if (isDrained === undefined) break;
      if (isDrained) continue;
      onUnread();
      await Promise.race([waitForDrain(response), result.ended]);
    }
    response.end('}');
  } catch {
    // The call has recorded the failure.
    response.destroy();
  } finally {
    caller.delete(departure);
  }
}
