import { counterContract } from '../../local-chain/demo-contracts/demo-contracts.ts';
import { callLocalNode } from '../../local-chain/local-node.ts';
import type { Row } from './ponder.ts';

const BLOCKS_PER_STEP = 500;
const EVENTS_PER_STEP = 5;
/** Hardhat sets a block's parent hash only if its parent was mined singly. Ponder follows the newest blocks by it. */
const LINKED_BLOCKS = 100;

/** A counter on a chain of Hardhat, which mines any number of empty blocks at once. */
export class CounterChain {
  counter = '';
  readonly #url: string;
  #account = '';
  #number = 0;

  constructor(url: string) {
    this.#url = url;
  }

  /** Mines blocks up to this number. Every 500th has five events of the counter, the last one has one. */
  async mineTo(last: number): Promise<void> {
    await this.#call('hardhat_setLoggingEnabled', false);
    [this.#account = ''] = (await this.#call('eth_accounts')) as string[];
    const hash = await this.#send({ data: counterContract.code, gas: '0x100000' });
    const receipt = await this.#call('eth_getTransactionReceipt', hash);
    this.counter = (receipt as { readonly contractAddress: string }).contractAddress;
    await this.#call('evm_setAutomine', false);
    for (let block = 1; block < last - LINKED_BLOCKS - BLOCKS_PER_STEP; block += BLOCKS_PER_STEP) {
      for (let event = 0; event < EVENTS_PER_STEP; event++) await this.setNumber();
      await this.#call('hardhat_mine', `0x${BLOCKS_PER_STEP.toString(16)}`);
    }
    await this.#call('evm_setAutomine', true);
    while (Number(await this.#call('eth_blockNumber')) < last - 1) await this.#call('evm_mine');
    await this.setNumber();
  }

  /** Sends a transaction with an event. */
  async setNumber(): Promise<void> {
    const data = counterContract.selectors.set + (++this.#number).toString(16).padStart(64, '0');
    await this.#send({ to: this.counter, data, gas: '0x30d40' });
  }

  /** The number of events that were sent. */
  get events(): number {
    return this.#number;
  }

  /** All events, as the node has them. */
  async readRows(): Promise<readonly Row[]> {
    const logs = await this.#call('eth_getLogs', { fromBlock: '0x0', toBlock: 'latest', address: this.counter });
    const rows = (logs as readonly Log[]).map(({ data, blockNumber, blockHash }) => ({
      number: Number(data),
      block: Number(blockNumber),
      blockHash,
    }));
    if (rows.some(({ number }, index) => number !== index + 1) || rows.length !== this.#number)
      throw new Error('the chain does not have the events that were sent');
    return rows;
  }

  #send(transaction: object): Promise<unknown> {
    // Without a price, Hardhat calls two more methods for each transaction.
    return this.#call('eth_sendTransaction', { from: this.#account, gasPrice: '0x77359400', ...transaction });
  }

  #call(method: string, ...params: unknown[]): Promise<unknown> {
    return callLocalNode(this.#url, method, params);
  }
}

interface Log {
  readonly data: string;
  readonly blockNumber: string;
  readonly blockHash: string;
}
