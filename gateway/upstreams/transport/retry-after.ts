/**
 * The time from now that `Retry-After` requests; undefined if the header is absent, malformed or in the past.
 * @param header `Retry-After`: seconds, or a date
 */
export function retryAfterMs(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+(?:\.\d+)?$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return ms > 0 ? ms : undefined;
}
