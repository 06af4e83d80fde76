import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until a condition is true. @returns elapsed ms. @throws Error after `timeoutMs` */
export async function eventually(condition: () => boolean | Promise<boolean>, timeoutMs: number): Promise<number> {
  const start = performance.now();
  for (;;) {
    const isTrue = await condition();
    const elapsedMs = performance.now() - start;
    if (elapsedMs > timeoutMs) throw new Error(`the condition was not true within ${timeoutMs} ms`);
    if (isTrue) return elapsedMs;
    await sleep(5);
  }
}
