import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until something holds. @returns milliseconds it took. @throws Error when `limitMs` have passed. */
export async function eventually(validity: () => boolean | Promise<boolean>, timeoutMs: number): Promise<number> {
  const start = performance.now();
  for (;;) {
    const held = await validity();
    const took = performance.now() - start;
    if (took > timeoutMs) throw new Error(`it did not come about within ${timeoutMs} ms`);
    if (held) return took;
    await sleep(5);
  }
}
