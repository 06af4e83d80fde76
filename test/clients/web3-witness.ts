import { Web3 } from 'web3';
import type { TestGateway } from '../support/gateway.ts';
import type { SeenHead, SeenLog, Witness } from '../subscriptions/witness.ts';
import { socketUrl } from '../server/websocket/caller.ts';

export async function web3Witness(gateway: TestGateway, slug: string, address: string): Promise<Witness> {
  const web3 = new Web3(socketUrl(gateway, slug));
  const heads: SeenHead[] = [];
  const logs: SeenLog[] = [];
  const errors: unknown[] = [];
  const addError = (error: unknown): void => {
    errors.push(error);
  };
  const blocks = await web3.eth.subscribe('newBlockHeaders');
  blocks.on('error', addError);
  blocks.on('data', ({ number, hash, parentHash }) => {
    heads.push({ number: String(number), hash: String(hash), parentHash: String(parentHash) });
  });
  const ofAddress = await web3.eth.subscribe('logs', { address });
  ofAddress.on('error', addError);
  ofAddress.on('data', (log) => {
    const { blockHash, logIndex, removed } = log as { blockHash: string; logIndex: unknown; removed: boolean };
    logs.push({ blockHash, index: Number(logIndex), removed });
  });
  const close = (): Promise<void> => {
    web3.provider?.disconnect();
    return Promise.resolve();
  };
  return { name: 'web3.js', heads, logs, errors, close };
}
