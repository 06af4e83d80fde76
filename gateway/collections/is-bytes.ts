/** Whole bytes in hexadecimal with 0x. A repeated group in the pattern may overflow the stack with megabytes of data. */
export function isBytes(data: unknown): data is string {
  if (typeof data !== 'string' || data.length % 2 !== 0 || !data.startsWith('0x')) return false;
  return !/[^0-9a-fA-F]/.test(data.slice(2));
}
