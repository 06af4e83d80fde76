import { median, show, spread } from '../figures.ts';

/** CPU time per call, of all loaded gateways together, and of Redis. */
export interface ReplicaCost {
  readonly gateways: number;
  readonly cpuUs: number;
  readonly redisCpuUs: number;
}

/** The table of docs/measured/scaling.md: medians of rounds. Each round has a cost for each number of gateways, in the same order. */
export function replicaRows(rounds: readonly (readonly ReplicaCost[])[]): string[][] {
  const rows = (rounds[0] ?? []).map(({ gateways }, index) => {
    const costs = rounds.flatMap((round) => round[index] ?? []);
    const cpus = costs.map(({ cpuUs }) => cpuUs);
    const perCore = 1e6 / median(cpus);
    return [
      String(gateways),
      `${show(median(cpus))} (${spread(cpus)})`,
      show(median(costs.map(({ redisCpuUs }) => redisCpuUs))),
      `${Math.round(perCore).toLocaleString('en')} × ${gateways}`,
    ];
  });
  return [['gateways', 'their CPU-µs per call', 'CPU-µs of Redis', 'calls per s of as many cores'], ...rows];
}
