import { createHash } from 'node:crypto';
import { keccak256, parseTransaction, type Hex } from 'viem';
import { clock } from '../../../gateway/clock/clock.ts';
import { fetchResult } from '../../parity/rpc-endpoint.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';
import { ancestorAt, includes, quantity, type DayBlock, type SignedTransaction } from './day-block.ts';
import type { DayNode } from './day-node.ts';

const BLOCK_MS = 1_000;
const FINALIZED_DISTANCE = 12;
const BEACON_ROOT = `0x${'0'.repeat(64)}`;

interface Built {
  readonly executionPayload: {
    readonly blockHash: string;
    readonly timestamp: string;
    readonly transactions: readonly `0x${string}`[];
  };
  readonly executionRequests: readonly string[] | null;
}

interface HeadAt {
  readonly at: number;
  readonly head: DayBlock;
}

/** The consensus client of two nodes. The first builds a block a second; the second gets them late, or not at all. */
export class DayChain {
  readonly first: DayNode;
  readonly second: DayNode;
  readonly blocks = new Map<string, DayBlock>();
  /** The account of each signed transaction, by hash. */
  readonly senders = new Map<string, string>();
  readonly genesis: DayBlock;
  /** The number of blocks by which the second node is behind. Undefined: it gets no blocks. */
  lagBlocks: number | undefined = 0;
  /** Whether blocks are built. */
  isBuilding = true;
  readonly #heads: HeadAt[];
  #possible: DayBlock | undefined;
  #generation = 0;
  #isEnded = false;
  #step: Promise<void> = Promise.resolve();

  constructor(first: DayNode, second: DayNode, genesis: DayBlock) {
    this.first = first;
    this.second = second;
    this.genesis = genesis;
    this.blocks.set(genesis.hash, genesis);
    this.#heads = [{ at: 0, head: genesis }];
  }

  /** The newest block that the first node serves. */
  get head(): DayBlock {
    return this.#heads.at(-1)?.head ?? this.genesis;
  }

  /** The newest block that the first node may serve already. */
  get possibleHead(): DayBlock {
    return this.#possible ?? this.head;
  }

  /** How often the chain started again from genesis. */
  get generation(): number {
    return this.#generation;
  }

  /** The heads in effect since a time, oldest first. */
  headsSince(at: number): DayBlock[] {
    const before = this.#heads.findLastIndex((one) => one.at <= at);
    return this.#heads.slice(Math.max(before, 0)).map(({ head }) => head);
  }

  /** Builds a block a second until `end`. */
  async run(): Promise<void> {
    for (let next = clock.now(); !this.#isEnded; next += BLOCK_MS) {
      await scenarioPause(Math.max(0, next - clock.now()));
      if (this.isBuilding) await this.exclusively(() => this.build());
    }
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    await this.#step;
  }

  /** Runs one change of the chain or of its nodes at a time. */
  async exclusively(step: () => Promise<void>): Promise<void> {
    const done = this.#step.then(step);
    this.#step = done.catch(() => undefined);
    await done;
  }

  /** The first node builds a block, and both nodes get it. @param transactions undefined: those of its pool */
  async build(transactions?: readonly SignedTransaction[], timestamp = Math.floor(Date.now() / 1_000)): Promise<void> {
    const parent = this.head;
    const attributes = {
      timestamp: quantity(Math.max(timestamp, parent.timestamp + 1)),
      // Makes the hashes of two blocks with the same parent differ.
      prevRandao: `0x${createHash('sha256').update(`${this.#heads.length} ${parent.generation}`).digest('hex')}`,
      suggestedFeeRecipient: `0x${'fe'.repeat(20)}`,
      withdrawals: [],
      parentBeaconBlockRoot: BEACON_ROOT,
    };
    const raws = transactions?.map(({ raw }) => raw) ?? null;
    const built = await fetchResult<Built>(this.first.rpc, 'testing_buildBlockV1', parent.hash, attributes, raws, '0x');
    const block = this.#add(parent, built);
    // geth serves the block before its response to the engine arrives.
    this.#possible = block;
    await this.first.follow(block);
    this.#heads.push({ at: clock.now(), head: block });
    await this.#feedSecond();
  }

  /** Removes the newest blocks of the first node. */
  async setHeadBack(blocks: number): Promise<void> {
    const block = ancestorAt(this.head, this.head.number - blocks);
    await this.first.setHeadBack(block);
    this.#possible = block;
    this.#heads.push({ at: clock.now(), head: block });
  }

  /** Both nodes start again from genesis. */
  restart(): void {
    this.#generation++;
    this.#possible = this.genesis;
    this.#heads.push({ at: clock.now(), head: this.genesis });
  }

  describeNodes(): string {
    return [this.first, this.second]
      .map(({ isRunning, head }) => (isRunning ? `at ${head.number}` : 'down'))
      .join(', ');
  }

  async #feedSecond(): Promise<void> {
    if (this.lagBlocks === undefined || !this.second.isRunning) return;
    const target = ancestorAt(this.head, this.head.number - this.lagBlocks);
    if (!includes(this.second.head, target)) await this.second.follow(target);
  }

  #add(parent: DayBlock, { executionPayload, executionRequests }: Built): DayBlock {
    const number = parent.number + 1;
    const oldest = Math.max(number - FINALIZED_DISTANCE, parent.finalized.number);
    const block: DayBlock = {
      number,
      hash: executionPayload.blockHash,
      parent,
      timestamp: Number(executionPayload.timestamp),
      generation: this.#generation,
      finalized: ancestorAt(parent, oldest),
      transactions: executionPayload.transactions.map((raw) => {
        const hash = keccak256(raw);
        return { raw, hash, from: this.senders.get(hash) ?? 'unknown' };
      }),
      payload: [
        executionPayload,
        executionPayload.transactions.flatMap(blobHashesOf),
        BEACON_ROOT,
        executionRequests ?? [],
      ],
    };
    this.blocks.set(block.hash, block);
    return block;
  }
}

function blobHashesOf(raw: Hex): readonly Hex[] {
  return raw.startsWith('0x03') ? (parseTransaction(raw as `0x03${string}`).blobVersionedHashes ?? []) : [];
}
