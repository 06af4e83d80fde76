import type { UtcDate } from './tally.ts';

const dayMs = 86_400_000;
let known = { number: NaN, day: '', month: '', nextDay: '', nextMonth: '', dayEnd: 0, monthEnd: 0 };

/** The date in UTC. Worked out once a day, since it is asked for at every call that has limits. */
export function utcDate(): UtcDate {
  const now = Date.now();
  const number = Math.floor(now / dayMs);
  if (number !== known.number) {
    const at = new Date(now);
    const dayEnd = (number + 1) * dayMs;
    const monthEnd = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1);
    const [day = '', nextDay = '', nextMonth = ''] = [now, dayEnd, monthEnd].map((time) =>
      new Date(time).toISOString(),
    );
    known = {
      ...{ number, day: day.slice(0, 10), month: day.slice(0, 7), dayEnd, monthEnd },
      ...{ nextDay: nextDay.slice(0, 10), nextMonth: nextMonth.slice(0, 7) },
    };
  }
  const { day, month, nextDay, nextMonth, dayEnd, monthEnd } = known;
  return {
    ...{ day, month, nextDay, nextMonth },
    dayEndsInS: Math.ceil((dayEnd - now) / 1000),
    monthEndsInS: Math.ceil((monthEnd - now) / 1000),
  };
}
