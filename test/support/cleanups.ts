/** Run after all tests of a file (`clean-up.ts`), because some tests run concurrently. */
export const cleanups: (() => Promise<unknown>)[] = [];

export async function cleanUp(): Promise<void> {
  const ended = await Promise.allSettled(cleanups.splice(0).map(async (cleanup) => cleanup()));
  const failed = ended.find(({ status }) => status === 'rejected');
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
}
