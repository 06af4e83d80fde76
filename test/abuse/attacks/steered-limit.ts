import { newSteeringCall, sendInTurn } from '../processes/requests.ts';
import type { Attack } from './attack.ts';

/** Connections: as many as a key may have in flight. */
const CONNECTIONS = 256;

export const steeredLimit: Attack = {
  name: 'lookups whose latency changes, to lower the concurrency limit of an upstream',
  sends: '256 connections of one key with lookups that take 400 ms and 20 ms in turn, for 0.15 s each',
  bound:
    'latencies of its own below 2 s move no limit, nor refusals of fewer than most keys; an eighth of the slots stays free for others',
  seconds: 12,
  key: {},
  atLeast: { connections: CONNECTIONS, bytes: 200_000 },
  start(target, traffic) {
    for (let connection = 0; connection < CONNECTIONS; connection++)
      void sendInTurn({ target, traffic, body: newSteeringCall, everyMs: 0 });
  },
};
