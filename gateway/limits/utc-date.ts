import { clock } from '../clock/clock.ts';
import type { Moment, UtcDate } from './limit-state.ts';

const DAY_S = 86_400;
let cached = dateAt(0);
let cachedSecond = 0;

/** The date in UTC. Every call with limits needs it, so the object is computed once per second. */
export function utcDate(): UtcDate {
  const second = Math.floor(clock.unixMs() / 1000);
  if (second !== cachedSecond) [cached, cachedSecond] = [dateAt(second), second];
  return cached;
}

export function currentMoment(): Moment {
  return { now: clock.now(), date: utcDate() };
}

function dateAt(second: number): UtcDate {
  const at = new Date(second * 1000);
  const dayEnd = (Math.floor(second / DAY_S) + 1) * DAY_S;
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
