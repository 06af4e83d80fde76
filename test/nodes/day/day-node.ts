import { mkdirSync, rmSync } from 'node:fs';
import { fetchResult, httpEndpoint, type RpcEndpoint } from '../../parity/rpc-endpoint.ts';
import { postToEngine } from '../engine.ts';
import { initGeth, startGethProcess, type GethProcess, type GethStart } from '../geth-process.ts';
import { blocksAbove, includes, type DayBlock } from './day-block.ts';

/** `debug_setHead`, `testing_buildBlockV1` and the peers, beside what the gateway uses. */
const APIS = 'eth,net,web3,debug,txpool,admin,testing';

/** A geth at one address, which gets blocks from this process by the engine API, as from a consensus client. */
export class DayNode {
  readonly url: string;
  readonly rpc: RpcEndpoint;
  readonly #start: GethStart;
  readonly #genesis: string;
  readonly #genesisBlock: () => DayBlock;
  #geth: GethProcess | undefined;
  #head: DayBlock | undefined;

  /** @param genesisBlock the first block of the tree of blocks */
  constructor(start: Omit<GethStart, 'apis'>, genesis: string, genesisBlock: () => DayBlock) {
    this.url = `http://127.0.0.1:${start.port}`;
    this.rpc = httpEndpoint('geth', this.url);
    this.#start = { ...start, apis: APIS };
    this.#genesis = genesis;
    this.#genesisBlock = genesisBlock;
  }

  get socketUrl(): string {
    return this.url.replace('http', 'ws');
  }

  get isRunning(): boolean {
    return this.#geth !== undefined;
  }

  get head(): DayBlock {
    return this.#head ?? this.#genesisBlock();
  }

  /** Starts with an empty data folder. */
  async startAnew(): Promise<void> {
    const { folder } = this.#start;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    initGeth(this.#start, this.#genesis);
    this.#head = undefined;
    this.#geth = await startGethProcess(this.#start);
  }

  /** Starts with the data of the last process. @param blocks the tree of blocks by hash */
  async startAgain(blocks: ReadonlyMap<string, DayBlock>): Promise<void> {
    this.#geth = await startGethProcess(this.#start);
    const { hash } = await fetchResult<{ hash: string }>(this.rpc, 'eth_getBlockByNumber', 'latest', false);
    this.#head = blocks.get(hash);
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const geth = this.#geth;
    this.#geth = undefined;
    await geth?.stop(signal);
  }

  /** Transactions reach all nodes of a chain. Blocks do not: they come from consensus clients. */
  async connectTo(other: DayNode): Promise<void> {
    const { enode } = await fetchResult<{ enode: string }>(other.rpc, 'admin_nodeInfo');
    await fetchResult(this.rpc, 'admin_addPeer', enode);
  }

  /** Removes the blocks above this one. */
  async setHeadBack(block: DayBlock): Promise<void> {
    await fetchResult(this.rpc, 'debug_setHead', `0x${block.number.toString(16)}`);
    this.#head = block;
  }

  /**
   * Imports the blocks that are missing. Each becomes the head: geth may have lost the state of its newest blocks when it was
   * killed, and executes a block that it has only when the block becomes the head.
   */
  async follow(block: DayBlock): Promise<void> {
    const missing = blocksAbove(block, 0).filter((one) => !includes(this.head, one));
    for (const { hash, finalized, payload } of missing) {
      await this.#engine('engine_newPayloadV4', payload);
      const final = finalized.number === 0 ? `0x${'0'.repeat(64)}` : finalized.hash;
      const state = { headBlockHash: hash, safeBlockHash: final, finalizedBlockHash: final };
      await this.#engine('engine_forkchoiceUpdatedV3', [state, null]);
    }
    this.#head = block;
  }

  async #engine(method: string, params: readonly unknown[]): Promise<void> {
    const url = this.#geth?.engineUrl ?? '';
    const text = await postToEngine(url, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    if (!text.includes('"status":"VALID"')) throw new Error(`geth rejected ${method}: ${text}`);
  }
}
