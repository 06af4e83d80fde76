import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { clock } from '../../gateway/clock/clock.ts';

/** A port at which connection attempts get no response. */
export interface BlackHole {
  readonly port: number;
  close(): Promise<void>;
}

/** Listens, and then blocks its event loop for ever. */
const program = `
  const { parentPort } = require('node:worker_threads');
  const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

/** Time longer than a connection over loopback takes to open on a loaded machine. */
const CONNECT_TIMEOUT_MS = 1_000;

/** The kernel accepts connections until the listener's queue is full, and then drops connection attempts. */
export async function startBlackHole(): Promise<BlackHole> {
  const worker = new Worker(program, { eval: true });
  const [port] = (await once(worker, 'message')) as [number];
  const queued: Socket[] = [];
  for (let isOpen = true; isOpen;) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined); // It is reset when the listener ends.
    queued.push(socket);
    isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => {
        resolve(true);
      });
      clock.setTimeout(resolve, CONNECT_TIMEOUT_MS, false);
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
