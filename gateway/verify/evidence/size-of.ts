/** The approximate length of a value as JSON. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 3;
  if (typeof value !== 'object' || value === null) return 6;
  let size = 2;
  for (const name in value) size += name.length + 4 + sizeOf((value as Record<string, unknown>)[name]);
  return size;
}
