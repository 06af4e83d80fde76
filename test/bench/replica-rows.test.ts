import { expect, it } from 'vitest';
import { replicaRows } from '../../bench/replicas/replica-rows.ts';

it('the table of gateways on one machine has medians of rounds, and the calls of as many cores', () => {
  const round = (cpuUs: number): { gateways: number; cpuUs: number; redisCpuUs: number }[] =>
    [1, 2].map((gateways) => ({ gateways, cpuUs: cpuUs * gateways, redisCpuUs: 1 }));
  expect(replicaRows([round(100), round(125), round(400)]).slice(1)).toEqual([
    ['1', '125 (100 – 400)', '1.00', '8,000 × 1'],
    ['2', '250 (200 – 800)', '1.00', '4,000 × 2'],
  ]);
});
