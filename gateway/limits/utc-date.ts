import type { UtcDate } from './tally.ts';

const dayMs = 86_400_000;
let known = { number: NaN, day: '', month: '', dayEnd: 0, monthEnd: 0 };

/** The date in UTC. Worked out once a day, since it is asked for at every call that has limits. */
export function utcDate(): UtcDate {
  const now = Date.now();
  const number = Math.floor(now / dayMs);
  if (number !== known.number) {
    const at = new Date(now);
    const day = at.toISOString().slice(0, 10);
    const monthEnd = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1);
    known = { number, day, month: day.slice(0, 7), dayEnd: (number + 1) * dayMs, monthEnd };
  }
  const { day, month, dayEnd, monthEnd } = known;
  return {
    day,
    month,
    dayEndsInS: Math.ceil((dayEnd - now) / 1000),
    monthEndsInS: Math.ceil((monthEnd - now) / 1000),
  };
}
