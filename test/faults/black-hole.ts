import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

/** A port that nobody answers at: what is sent to connect to it is dropped. */
export interface BlackHole {
  readonly port: number;
  close(): Promise<void>;
}

/** Listens, and then never looks at its event loop again. */
const program = `
  const { parentPort } = require('node:worker_threads');
  const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

/** Longer than a connection over loopback takes to come about. */
const CONNECT_MS = 100;

/** The kernel accepts by itself until the queue of the listener is full; from then on it drops what comes. */
export async function startBlackHole(): Promise<BlackHole> {
  const worker = new Worker(program, { eval: true });
  const [port] = (await once(worker, 'message')) as [number];
  const queued: Socket[] = [];
  for (let isOpen = true; isOpen;) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined); // reset when the listener ends
    queued.push(socket);
    isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => {
        resolve(true);
      });
      setTimeout(resolve, CONNECT_MS, false);
    });
  }
  return {
    port,
    close: async () => {
      for (const socket of queued) socket.destroy();
      await worker.terminate();
    },
  };
}
