import type { Socket } from 'node:net';
import { clock } from '../clock/clock.ts';
import { causeOf, type Log } from '../config/log.ts';
import type { MessageToPrimary, MessageToWorker } from './messages.ts';
import { ALIVE_INTERVAL_MS } from './primary.ts';
import { WorkerLink } from './worker-link.ts';
import { WorkerPorts } from './worker-ports.ts';

export interface WorkerEvents {
  readonly reload: () => void;
  /** @param delayMs until it stops listening */
  readonly stop: (delayMs: number) => void;
  /** The primary has ended. */
  readonly end: () => void;
}

/** Connects this worker with its primary. */
export function openWorkerLink(id: number, count: number, log: Log, events: WorkerEvents): WorkerLink {
  const send = (message: MessageToPrimary): void => {
    if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
  };
  const link = new WorkerLink({
    id,
    count,
    send,
    onError: (error) => {
      log.error(causeOf(error), 'internal error in a request of another worker');
    },
  });
  const ports = (link.ports = new WorkerPorts(link.request.bind(link, 'primary'), send));
  process.on('message', (message: MessageToWorker, socket: Socket | undefined) => {
    if (message.kind === 'reload') events.reload();
    else if (message.kind === 'stop') events.stop(message.delayMs);
    else if (message.kind === 'connection') ports.received(message, socket);
    else link.received(message);
  });
  process.once('disconnect', events.end);
  // The primary has ended before, while this process loaded its modules.
  if (!process.connected) events.end();
  clock
    .setInterval(() => {
      send({ kind: 'alive', open: ports.open });
    }, ALIVE_INTERVAL_MS)
    .unref();
  return link;
}
