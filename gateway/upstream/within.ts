/**
 * Waits for what others may be waiting for too, but only so long. It goes on all the same.
 * @throws what `tooLate` makes when it takes longer
 */
export async function within<T>(waitedFor: Promise<T>, limitMs: number, tooLate: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(tooLate());
    }, limitMs);
  });
  try {
    return await Promise.race([waitedFor, limit]);
  } finally {
    clearTimeout(timer);
  }
}
