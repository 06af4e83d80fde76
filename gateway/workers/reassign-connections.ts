import type { Worker } from 'node:cluster';
import { clock } from '../clock/clock.ts';

/** After a worker has ended, its last messages are read within this time. */
const READ_MS = 20;

/** What node:cluster sends with a connection, and the response to it (lib/internal/cluster, Node 20 to 24). */
interface ClusterMessage {
  readonly act?: string;
  readonly seq?: number;
  readonly ack?: number;
}

interface ConnectionHandle {
  close(): void;
}

/**
 * A connection that was sent to a worker which ends before it accepts it goes to another worker. Node would leave it open for ever.
 * @param hasOther whether another worker listens; otherwise the connection is closed
 */
export function reassignConnections(worker: Worker, hasOther: () => boolean): void {
  const child = worker.process;
  const notAccepted = new Map<number, ConnectionHandle>();
  const send = child.send.bind(child) as (...parts: unknown[]) => boolean;
  child.send = (...parts: unknown[]): boolean => {
    const [{ act, seq }, handle] = parts as [ClusterMessage, ConnectionHandle];
    if (act === 'newconn' && seq !== undefined) notAccepted.set(seq, handle);
    return send(...parts);
  };
  child.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined) notAccepted.delete(ack);
  });
  const reassign = (): void => {
    if (notAccepted.size === 0) return;
    // Node emits it when the worker has confirmed that it got the handle. With it, the worker gets no more connections.
    child.emit('disconnect');
    for (const [ack, handle] of notAccepted) {
      if (hasOther()) child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false });
      else handle.close();
    }
  };
  // A primary that was busy for longer reads them in the turn after the timer.
  child.once('exit', () =>
    clock.setTimeout(() => {
      clock.setImmediate(reassign);
    }, READ_MS),
  );
}
