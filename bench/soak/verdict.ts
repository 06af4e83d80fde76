/** Outcomes of one kind, and those that do not count as failures only because a process was delayed. */
export interface ExcusedOutcomes {
  /** What was counted, as a plural. */
  readonly kind: string;
  readonly excused: number;
  readonly total: number;
}

export interface RunResult {
  /** What was not as promised. */
  readonly failures: readonly string[];
  readonly outcomes: readonly ExcusedOutcomes[];
  /** The share of the time for which a process waited for a CPU. */
  readonly waitPercent: number;
}

export interface Verdict {
  readonly text: string;
  readonly exitCode: 0 | 1 | 2;
}

const MAX_EXCUSED_PERCENT = 1;
const MAX_WAIT_PERCENT = 50;

/** Failed (1), inconclusive (2) if other programs used so much of the machine that failures may not have counted, or passed. */
export function verdictOf({ failures, outcomes, waitPercent }: RunResult): Verdict {
  if (failures.length > 0) return { text: failures.join('; '), exitCode: 1 };
  const doubts = outcomes.flatMap(({ kind, excused, total }) => {
    if (total === 0) return [`there were no ${kind}`];
    if (excused / total <= MAX_EXCUSED_PERCENT / 100) return [];
    return [`${excused} of ${total} ${kind} failed or were late during a delay, limit ${MAX_EXCUSED_PERCENT} %`];
  });
  if (waitPercent > MAX_WAIT_PERCENT) {
    doubts.push(`a process waited for a CPU for ${waitPercent.toFixed(0)} % of the time, limit ${MAX_WAIT_PERCENT} %`);
  }
  if (doubts.length === 0) return { text: 'passed', exitCode: 0 };
  return { text: `inconclusive, repeat on a machine with less load: ${doubts.join('; ')}`, exitCode: 2 };
}
