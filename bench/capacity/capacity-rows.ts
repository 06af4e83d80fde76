import { median } from '../figures.ts';

/** What one round measured. Memory in bytes, of the process after a garbage collection. */
export interface CapacityRound {
  readonly callsPerCore: number;
  readonly startedBytes: number;
  readonly bytesPerKey: number;
  readonly bytesPerNetwork: number;
  readonly bytesPerSocket: number;
}

/** How many of each were added to measure one. */
export interface CapacityCounts {
  readonly keys: number;
  readonly networks: number;
  readonly sockets: number;
}

/** The table of docs/scaling.md: the median of the rounds and, in brackets, the lowest and the highest. */
export function capacityRows(
  rounds: readonly CapacityRound[],
  { keys, networks, sockets }: CapacityCounts,
  load: string,
): string[][] {
  const cell = (name: keyof CapacityRound, unit: string, divisor = 1, digits = 0): string => {
    const values = rounds.map((round) => round[name] / divisor);
    const text = (value: number): string =>
      value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
    return `${text(median(values))} ${unit} (${text(Math.min(...values))} – ${text(Math.max(...values))})`;
  };
  const count = (value: number): string => value.toLocaleString('en');
  return [
    ['one core serves, one more needs', 'median of the rounds', 'measured with'],
    [
      'calls',
      cell('callsPerCore', 'per s'),
      'single HTTP requests of wallets over 64 connections; 1 s ÷ CPU time per call',
    ],
    ['gateway', cell('startedBytes', 'MB', 1e6), 'resident, with one network and one key, after these calls'],
    ['key', cell('bytesPerKey', 'kB', 1e3, 1), `${count(keys)} keys in a file, each used: heap and buffers`],
    [
      'network',
      cell('bytesPerNetwork', 'kB', 1e3),
      `${count(networks)} networks with one upstream, each used: heap and buffers`,
    ],
    ['WebSocket', cell('bytesPerSocket', 'kB', 1e3, 1), `${count(sockets)} idle sockets, besides 500: resident`],
    ['other load of the machine', load, `${rounds.length} rounds`],
  ];
}
