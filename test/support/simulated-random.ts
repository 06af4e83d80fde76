import { Random as SeededNumbers } from '../../bench/random.ts';
import type { Random } from '../../gateway/clock/random.ts';

/** Values that only depend on the seed. */
export class SimulatedRandom implements Random {
  readonly #numbers: SeededNumbers;

  constructor(seed: number) {
    this.#numbers = new SeededNumbers(seed);
  }

  number(): number {
    return this.#numbers.next();
  }

  bytes(count: number): Buffer {
    return Buffer.from(Array.from({ length: count }, () => this.#numbers.between(0, 255)));
  }

  /** UUID in the form of version 4. */
  uuid(): string {
    const hex = this.bytes(16).toString('hex');
    return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-8$4-$5');
  }
}
