import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fetchResult } from '../../parity/rpc-endpoint.ts';
import { freePort } from '../../support/redis.ts';
import { DayChain } from '../day/day-chain.ts';
import { DayNode } from '../day/day-node.ts';
import type { DayBlock } from '../day/day-block.ts';
import { osakaGenesis, THOUSAND_ETHER } from '../osaka-genesis.ts';
import { accounts, logLoop } from './day-transactions.ts';

/** Chain id of none of the development chains, so that responses are cached. */
export const CHAIN_ID = 7772;
const EARLY_SECONDS = 60;

/** One geth, which builds a block when the test says so. */
export interface SubscribedChain {
  readonly node: DayNode;
  readonly chain: DayChain;
  stop(): Promise<void>;
}

export async function startSubscribedChain(binary: string): Promise<SubscribedChain> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-subscribed-'));
  const startedAt = Math.floor(Date.now() / 1_000) - EARLY_SECONDS;
  const rich = accounts.map(({ address }) => [address.slice(2), { balance: THOUSAND_ETHER }] as const);
  const contract = [logLoop.address.slice(2), { balance: '0x0', code: logLoop.code }] as const;
  const genesis = JSON.stringify(osakaGenesis(binary, CHAIN_ID, startedAt, Object.fromEntries([...rich, contract])));
  const args = ['--state.scheme', 'hash', '--gcmode', 'archive', '--syncmode', 'full', '--networkid', String(CHAIN_ID)];
  const [port, enginePort] = [await freePort(), await freePort()];
  const node = new DayNode({ binary, folder: join(folder, 'node'), args, port, enginePort }, genesis, () => block);
  await node.startAnew();
  const { hash } = await fetchResult<{ hash: string }>(node.rpc, 'eth_getBlockByNumber', '0x0', false);
  const block: DayBlock = {
    ...{ number: 0, hash, parent: undefined, timestamp: startedAt, generation: 0, transactions: [], payload: [] },
    get finalized() {
      return block;
    },
  };
  const chain = new DayChain(node, node, block);
  chain.lagBlocks = undefined;
  return {
    ...{ node, chain },
    async stop() {
      await node.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
