/** What Gatehouse promises to its operator and to every other caller, in each attack. */
export const bounds = {
  /** Resident memory of the process, with default settings. */
  memoryBytes: 512 * 1_024 * 1_024,
  /** What the primary and a second worker add: code, and what each process has in common with the others. */
  twoMoreProcessesBytes: 140 * 1_024 * 1_024,
  /** Times of another key's sequential requests, as multiples of their median without the attack. */
  median: 1.5,
  worst: 3,
} as const;
