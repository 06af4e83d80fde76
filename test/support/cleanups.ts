/** Run after all tests of a file (`clean-up.ts`), because some tests run concurrently. */
export const cleanups: (() => Promise<unknown>)[] = [];

export async function cleanUp(): Promise<void> {
  await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()));
}
