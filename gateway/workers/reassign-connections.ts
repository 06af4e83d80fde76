import type { Worker } from 'node:cluster';
import { clock } from '../clock/clock.ts';

/** After a worker has ended, its last messages are read within this time. */
const READ_MS = 20;
/** A worker that does not accept a connection for this time gets no other one, also for another port. */
const MAX_ACCEPT_MS = 200;
/** A connection for a worker that hangs goes to the next one after this time. If there is none, it comes back. */
const HELD_MS = 10;

/** What node:cluster sends with a connection, and the response to it (lib/internal/cluster, Node 20 to 24). */
interface ClusterMessage {
  readonly act?: string;
  readonly seq?: number;
  readonly ack?: number;
}

interface ConnectionHandle {
  close(): void;
}

interface NotAccepted {
  readonly handle: ConnectionHandle;
  readonly at: number;
}

/**
 * A connection that was sent to a worker which ends before it accepts it goes to another worker. Node would leave it open for
 * ever. A worker that hangs gets none: what it has got, it may still accept.
 * @param isSilent whether the worker has sent nothing for longer than usual
 * @param hasOther whether another worker listens; otherwise the connection is closed at the worker's end
 */
export function reassignConnections(
  worker: Pick<Worker, 'process'>,
  isSilent: () => boolean,
  hasOther: () => boolean,
): void {
  const child = worker.process;
  const notAccepted = new Map<number, NotAccepted>();
  const send = child.send.bind(child) as (...parts: unknown[]) => boolean;
  const decline = (ack: number): void => {
    child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false });
  };
  child.send = (...parts: unknown[]): boolean => {
    const [{ act, seq }, handle] = parts as [ClusterMessage, ConnectionHandle];
    if (act !== 'newconn' || seq === undefined) return send(...parts);
    const now = clock.now();
    const hangs = isSilent() || [...notAccepted.values()].some(({ at }) => now - at > MAX_ACCEPT_MS);
    notAccepted.set(seq, { handle, at: now });
    if (!hangs) return send(...parts);
    clock.setTimeout(() => {
      if (notAccepted.has(seq)) decline(seq);
    }, HELD_MS);
    return true;
  };
  child.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined) notAccepted.delete(ack);
  });
  const reassign = (): void => {
    if (notAccepted.size === 0) return;
    // Node emits it when the worker has confirmed that it got the handle. With it, the worker gets no more connections.
    child.emit('disconnect');
    for (const [ack, { handle }] of notAccepted) {
      if (hasOther()) decline(ack);
      else handle.close();
    }
    notAccepted.clear();
  };
  // A primary that was busy for longer reads them in the turn after the timer.
  child.once('exit', () =>
    clock.setTimeout(() => {
      clock.setImmediate(reassign);
    }, READ_MS),
  );
}
