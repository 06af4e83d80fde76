const unitMs = { d: 86_400_000, h: 3_600_000, m: 60_000 };

/** Parses `90d`, `12h` or `30m` to milliseconds; undefined for any other text. */
export function durationOf(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,5})([dhm])$/.exec(text) ?? [];
  return unit === undefined ? undefined : Number(count) * unitMs[unit as keyof typeof unitMs];
}
