import type { UtcDate } from './limit-state.ts';

const dayS = 86_400;
let known = dateAt(0);
let knownAt = 0;

/** The date in UTC. Every call that has limits asks for it: all within a second are told the same object. */
export function utcDate(): UtcDate {
  const second = Math.floor(Date.now() / 1000);
  if (second !== knownAt) [known, knownAt] = [dateAt(second), second];
  return known;
}

function dateAt(second: number): UtcDate {
  const at = new Date(second * 1000);
  const dayEnd = (Math.floor(second / dayS) + 1) * dayS;
  const monthEnd = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1) / 1000;
  const [today, nextDay, nextMonth] = [second, dayEnd, monthEnd].map(textOf) as [string, string, string];
  return {
    day: today.slice(0, 10),
    month: today.slice(0, 7),
    nextDay: nextDay.slice(0, 10),
    nextMonth: nextMonth.slice(0, 7),
    dayEndsInS: dayEnd - second,
    monthEndsInS: monthEnd - second,
  };
}

function textOf(second: number): string {
  return new Date(second * 1000).toISOString();
}
