import type { Attack } from './attack.ts';
import { BATCH_LOOPS, sendFreeBatches } from './free-batches.ts';

const ITEMS = 1_000;
const ADDRESSES = 100;

export const invalidLogs: Attack = {
  name: '1,000 invalid `eth_getLogs` in a batch',
  sends: '6 connections of a key with `rate: 1`, batches of 4.5 MB: each filter has 100 addresses and an invalid topic',
  bound: 'a rejected request costs a small part of a unit; long checks yield',
  seconds: 6,
  key: { rate: 1 },
  atLeast: { connections: BATCH_LOOPS, bytes: 4_000_000 },
  start(target, traffic) {
    const filter = { address: Array.from({ length: ADDRESSES }, () => `0x${'1'.repeat(40)}`), topics: [1] };
    const item = (_: unknown, id: number): object => ({ jsonrpc: '2.0', id, method: 'eth_getLogs', params: [filter] });
    const batch = JSON.stringify(Array.from({ length: ITEMS }, item));
    sendFreeBatches(target, traffic, batch);
  },
};
