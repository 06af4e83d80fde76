import { randomBytes, randomUUID } from 'node:crypto';

/** Random values for jitter, samples and ids. Keys and key secrets are not made of them: auth/formats/key.ts. */
export interface Random {
  /** Number from 0 (inclusive) to 1 (exclusive). */
  number(): number;
  uuid(): string;
  bytes(count: number): Buffer;
}

const systemRandom: Random = {
  number: () => Math.random(),
  uuid: () => randomUUID(),
  bytes: (count) => randomBytes(count),
};

/** The randomness of the gateway, from the secure generator of the system except for numbers. */
export let random = systemRandom;

/** Replaces the randomness of the process, for a simulation. To be called before parts of a gateway are constructed. */
export function installRandom(replacement: Random): void {
  random = replacement;
}
