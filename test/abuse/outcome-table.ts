import type { Attack } from './attacks/attack.ts';
import type { Outcome } from './play-attack.ts';

/** The table `attacks` of docs/measured/attacks.md. */
export const heading = [
  ...['attack', 'what is sent', 'bound', 'peak memory'],
  ...['other callers: rejected', 'median', 'worst', 'CPU wait'],
];

export function rowOf({ name, sends, bound }: Attack, { peakBytes, alone, attacked }: Outcome): string[] {
  const times = (ms: number): string =>
    Number.isNaN(ms) ? 'none served' : `${Math.round(ms)} ms (${(ms / alone.medianMs).toFixed(2)} ×)`;
  const rejected = `${attacked.rejected.length} of ${attacked.requests}`;
  const figures = [
    `${Math.round(peakBytes / 1_024 / 1_024)} MB`,
    rejected,
    times(attacked.medianMs),
    times(attacked.worstMs),
    Number.isNaN(attacked.worstCpuWaitMs) ? 'unknown' : `${Math.round(attacked.worstCpuWaitMs)} ms`,
  ];
  return [name, sends, bound, ...figures];
}
