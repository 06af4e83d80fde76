import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until something holds. @returns milliseconds it took. @throws Error when `limitMs` have passed. */
export async function eventually(holds: () => boolean | Promise<boolean>, limitMs: number): Promise<number> {
  const start = performance.now();
  for (;;) {
    const held = await holds();
    const took = performance.now() - start;
    if (took > limitMs) throw new Error(`it did not come about within ${limitMs} ms`);
    if (held) return took;
    await sleep(5);
  }
}
