/**
 * How long an upstream asks to be left alone; undefined where it says nothing of use.
 * @param header `Retry-After`: seconds, or a date
 */
export function retryAfterMs(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+(?:\.\d+)?$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return ms > 0 ? ms : undefined;
}
