import { LRUCache } from 'lru-cache';
import { random } from '../clock/random.ts';
import { maxEntries } from '../config/max-entries.ts';
import { blockInResult, type BlockInResult } from './block-in-result.ts';
import { chainKeyOf, type DurableCache } from './durable-cache.ts';

/** The id of the shared entries of a network, and the newest final block of their chain. */
interface SharedRecord {
  readonly id: string;
  /** Final block; undefined: no block is final since the id is new. */
  readonly block: BlockInResult | undefined;
}

const MAX_GIVEN_UP = 1_000;
/** Ids whose entries this process gave up. */
const givenUp = new LRUCache<string, true>(maxEntries(MAX_GIVEN_UP));

/**
 * Maintains the record in a durable cache by which gateways agree on the chain of their entries. The keys of entries contain
 * the record's id. A gateway uses them only if its upstreams have the recorded block; if they have another one, it writes a
 * new id, so that no gateway finds the entries of the dead chain.
 */
export class SharedChain {
  /** Id of the record; undefined: the record was not compared with the upstreams yet, or the durable cache is unavailable. */
  id: string | undefined;
  readonly #cache: DurableCache;
  readonly #key: string;
  #ownId: string | undefined;
  #replacesRecord: boolean;
  /** Whether it has written the record. If that is missing then, `gatehouse cache clear` has removed it, and the id becomes another. */
  #hasRecord = false;

  /**
   * @param network slug and chain id
   * @param newId replaces the id of the record
   */
  constructor(cache: DurableCache, network: string, newId: string | undefined) {
    this.#cache = cache;
    this.#key = chainKeyOf(network);
    this.#ownId = newId;
    this.#replacesRecord = newId !== undefined;
  }

  /**
   * Compares the record with the upstreams, and records the newest final block. Never rejects because of the cache.
   * @param hasBlock whether the upstreams have the block; undefined: not known
   * @returns the newest final block: that of the record, if it is newer and the upstreams have it
   */
  async synchronise(
    newest: BlockInResult | undefined,
    hasBlock: (block: BlockInResult) => Promise<boolean | undefined>,
  ): Promise<BlockInResult | undefined> {
    const found = this.#replacesRecord ? 'miss' : await this.#cache.read(this.#key);
    if (found === 'miss' && this.#hasRecord) this.#ownId = undefined;
    const read = typeof found === 'string' ? undefined : parseRecord(found.json);
    // A gateway that had read it before has written it again.
    const record = read !== undefined && givenUp.has(read.id) ? undefined : read;
    const isSame = record?.block === undefined || record.block.hash === newest?.hash || (await hasBlock(record.block));
    if (found === 'failed' || isSame === undefined) return this.#suspend(newest);
    if (record !== undefined && isSame) this.#ownId = record.id;
    else if (record?.id === this.#ownId) this.#ownId = undefined;
    const isRecordNewer = isSame && record?.block !== undefined && !(newest && newest.number >= record.block.number);
    const block = isRecordNewer ? record.block : newest;
    if (block === undefined && !this.#replacesRecord) return undefined;
    this.#ownId ??= random.uuid();
    if (!(await this.#cache.write(this.#key, recordText({ id: this.#ownId, block })))) return this.#suspend(block);
    this.#replacesRecord = false;
    this.#hasRecord = true;
    this.id = block && this.#ownId;
    return block;
  }

  /** No entry of the id is used any more. */
  giveUp(): void {
    if (this.#ownId !== undefined) givenUp.set(this.#ownId, true);
  }

  #suspend(newest: BlockInResult | undefined): BlockInResult | undefined {
    this.id = undefined;
    return newest;
  }
}

function recordText({ id, block }: SharedRecord): string {
  return JSON.stringify({ id, ...(block && { number: `0x${block.number.toString(16)}`, hash: block.hash }) });
}

/** @param text JSON of any program @returns undefined if it is no record */
function parseRecord(text: string | Buffer): SharedRecord | undefined {
  const result: unknown = JSON.parse(String(text));
  const { id } = (result ?? {}) as Record<string, unknown>;
  if (typeof id !== 'string' || !/^[0-9a-f-]{36}$/.test(id)) return undefined;
  return { id, block: blockInResult({ kind: 'result', result }) };
}
