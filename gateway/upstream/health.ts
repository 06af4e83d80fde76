import type { FailureClass } from './reply.ts';

const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 30_000;
/** A used-up plan, refused credentials or a wrong chain do not mend themselves in seconds. */
const LONG_REST_MS = 60_000;

/** Whether an upstream is worth asking. A failing one rests for a doubling while, and is then tried with a real call. */
export class Health {
  #failures = 0;
  #restsUntil = 0;

  /** False from a failure until the next success. */
  get isUp(): boolean {
    return this.#failures === 0;
  }

  isResting(now: number): boolean {
    return now < this.#restsUntil;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#restsUntil = 0;
  }

  /** Failures of the call rather than of the upstream leave its health alone. */
  failed(failure: FailureClass, now: number): void {
    const rest = restFor(failure, this.#failures);
    if (rest === undefined) return;
    this.#failures++;
    this.#restsUntil = now + rest;
  }
}

function restFor(failure: FailureClass, failuresBefore: number): number | undefined {
  switch (failure) {
    case 'transport':
    case 'malformed':
    case 'rate':
      return Math.min(FIRST_REST_MS * 2 ** Math.min(failuresBefore, 10), LONGEST_REST_MS);
    case 'quota':
    case 'auth':
    case 'wrong-chain':
      return LONG_REST_MS;
    default:
      return undefined;
  }
}
