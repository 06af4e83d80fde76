import cluster from 'node:cluster';
import { clock } from '../clock/clock.ts';
import { causeOf, type Log } from '../config/log.ts';
import type { MessageToWorker } from './messages.ts';
import { ALIVE_INTERVAL_MS } from './primary.ts';
import { WorkerLink } from './worker-link.ts';

export interface WorkerEvents {
  readonly reload: () => void;
  /** @param delayMs until it stops listening */
  readonly stop: (delayMs: number) => void;
}

/** Whether this process is a worker of a primary. */
export const isWorker = cluster.isWorker;

/** Connects this worker with its primary. */
export function openWorkerLink(count: number, log: Log, events: WorkerEvents): WorkerLink {
  const { worker } = cluster;
  if (worker === undefined) throw new Error('this process is no worker');
  // Node ends this process when the channel to the primary closes.
  const link = new WorkerLink({
    id: worker.id,
    count,
    send: (message) => {
      if (worker.isConnected()) worker.send(message, () => undefined);
    },
    onError: (error) => {
      log.error(causeOf(error), 'internal error in a request of another worker');
    },
  });
  worker.on('message', (message: MessageToWorker) => {
    if (message.kind === 'reload') events.reload();
    else if (message.kind === 'stop') events.stop(message.delayMs);
    else link.received(message);
  });
  clock
    .setInterval(() => {
      worker.send({ kind: 'alive' }, () => undefined);
    }, ALIVE_INTERVAL_MS)
    .unref();
  return link;
}
