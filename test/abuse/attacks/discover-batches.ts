import type { Attack } from './attack.ts';
import { BATCH_LOOPS, sendFreeBatches } from './free-batches.ts';

const ITEMS = 1_000;

export const discoverBatches: Attack = {
  name: '1,000 `rpc.discover` in a batch',
  sends: '6 connections of a key with `rate: 1`, one batch after the other',
  bound: 'a local result costs a small part of a unit; maximum size of a batch response',
  seconds: 6,
  key: { rate: 1 },
  atLeast: { connections: BATCH_LOOPS, bytes: 50_000 },
  start(target, traffic) {
    const item = (_: unknown, id: number): string => `{"jsonrpc":"2.0","id":${id},"method":"rpc.discover","params":[]}`;
    const batch = `[${Array.from({ length: ITEMS }, item).join(',')}]`;
    sendFreeBatches(target, traffic, batch);
  },
};
