export interface LagSummary {
  readonly samples: number;
  readonly mean: number;
  readonly worst: number;
}

/** Counts by how many blocks reads of `latest` are behind the best node. */
export class LatestLag {
  #samples = 0;
  #sum = 0;
  #worst = 0;

  add(blocks: number): void {
    this.#samples++;
    this.#sum += blocks;
    this.#worst = Math.max(this.#worst, blocks);
  }

  get summary(): LagSummary {
    const samples = this.#samples;
    return { samples, mean: samples && this.#sum / samples, worst: this.#worst };
  }
}
