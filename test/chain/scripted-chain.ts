export interface ScriptedBlock {
  readonly number: string;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestamp: string;
  readonly gasLimit: string;
  readonly transactions: readonly string[];
}

let hashCount = 0;

/** The chain of a scripted node. Each mined block has another hash. */
export class ScriptedChain {
  readonly #secondsApart: number;
  #blocks: ScriptedBlock[];

  /** @param from the number of its first block */
  constructor({ from = 100, secondsApart = 12, blocks = [] as readonly ScriptedBlock[] } = {}) {
    this.#secondsApart = secondsApart;
    this.#blocks = blocks.length > 0 ? [...blocks] : [block(from, hash(), 1_700_000_000)];
  }

  get head(): ScriptedBlock {
    return this.#blocks.at(-1) as ScriptedBlock;
  }

  get number(): bigint {
    return BigInt(this.head.number);
  }

  /** A copy that changes independently from here. */
  copy(): ScriptedChain {
    return new ScriptedChain({ secondsApart: this.#secondsApart, blocks: this.#blocks });
  }

  mine(count = 1): ScriptedBlock {
    for (let mined = 0; mined < count; mined++) {
      const { number, hash: parent, timestamp } = this.head;
      this.#blocks.push(block(Number(number) + 1, parent, Number(timestamp) + this.#secondsApart));
    }
    return this.head;
  }

  /** Removes this many blocks, and mines others. */
  reorganise(depth: number, count = depth + 1): ScriptedBlock {
    this.goBack(depth);
    return this.mine(count);
  }

  goBack(depth: number): void {
    this.#blocks = this.#blocks.slice(0, -depth);
  }

  byNumber(which: string): ScriptedBlock | null {
    if (which === 'latest') return this.head;
    return this.#blocks.find(({ number }) => number === which) ?? null;
  }

  byHash(which: string): ScriptedBlock | null {
    return this.#blocks.find((one) => one.hash === which) ?? null;
  }
}

function block(number: number, parentHash: string, timestamp: number): ScriptedBlock {
  return {
    number: `0x${number.toString(16)}`,
    hash: hash(),
    parentHash,
    timestamp: `0x${timestamp.toString(16)}`,
    gasLimit: '0x1c9c380',
    transactions: [],
  };
}

function hash(): string {
  return `0x${(++hashCount).toString(16).padStart(64, '0')}`;
}
