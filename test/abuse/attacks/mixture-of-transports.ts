import { newBatch, newCall, rawPost, sendInTurn } from '../processes/requests.ts';
import { holdOpen, type RawConnection } from '../processes/raw-connection.ts';
import { frame, holdWebSocket } from '../processes/web-socket.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';
import type { Attack, Target } from './attack.ts';
import type { Traffic } from '../processes/traffic.ts';

/** Connections of each of the four transports. */
const CONNECTIONS = 16;
/** 16 × (10 + 15 + 25) lookups in 250 ms are 3,200 per second. */
const EVERY_MS = 250;
const lookups = { pipelined: 10, batch: 15, webSocket: 25 } as const;
/** More than this in the attacker's own buffers: the gateway reads no further, and the attacker waits. */
const MAX_UNSENT_BYTES = 1_000_000;
/** Bytes per second of a slow body. */
const SLOW_BYTES = 1_000;

export const mixtureOfTransports: Attack = {
  name: 'mixture: more than the capacity over every transport',
  sends:
    '64 connections of one key: 16 pipeline lookups, 16 send batches, 16 WebSockets, 16 slow bodies; ' +
    '3,200 lookups per second, the upstream serves 1,280',
  bound: '`--concurrency` of the key; fair queueing over keys for upstream connections',
  seconds: 15,
  key: {},
  atLeast: { connections: 4 * CONNECTIONS, bytes: 500_000 },
  start(target, traffic) {
    for (let count = 0; count < CONNECTIONS; count++) {
      pipeline(target, traffic);
      void sendInTurn({ target, traffic, body: () => newBatch(lookups.batch), everyMs: EVERY_MS });
      holdWebSocket(target, traffic, {
        reads: 'all',
        onOpen: (connection) => void repeat(connection, () => newFrames(lookups.webSocket)),
      });
      sendSlowly(target, traffic);
    }
  },
};

function pipeline(target: Target, traffic: Traffic): void {
  const requests = (): string =>
    Array.from({ length: lookups.pipelined }, () => rawPost(target.path, newCall())).join('');
  holdOpen(target, traffic, { reads: 'all', onOpen: (connection) => void repeat(connection, requests) });
}

function newFrames(count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => frame('text', newCall())));
}

/** Writes at a fixed rate, without regard to responses. */
async function repeat({ socket, write }: RawConnection, bytes: () => string | Buffer): Promise<void> {
  while (!socket.destroyed) {
    if (socket.writableLength < MAX_UNSENT_BYTES) write(bytes());
    await scenarioPause(EVERY_MS);
  }
}

function sendSlowly(target: Target, traffic: Traffic): void {
  holdOpen(target, traffic, {
    reads: 'all',
    onOpen(connection) {
      connection.write(`POST ${target.path} HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n`);
      void repeat(connection, () => ' '.repeat((SLOW_BYTES * EVERY_MS) / 1_000));
    },
  });
}
