import { openLog } from '../../gateway/config/log.ts';
import { makeDemoChain, type DemoChain } from '../../local-chain/demo-chain.ts';
import { startLocalNode } from '../../local-chain/local-node.ts';

export interface Anvil {
  readonly url: string;
  readonly chain: DemoChain;
  stop(): Promise<void>;
}

/** Starts an anvil process with the demo chain. The test must call `stop()`. */
export async function startAnvil({ chainId = 1337 }: { chainId?: number } = {}): Promise<Anvil> {
  const node = await startLocalNode({ chainId, log: openLog('silent') });
  try {
    await node.ready;
    return { url: node.url, chain: await makeDemoChain(node.url), stop: () => node.stop() };
  } catch (error) {
    await node.stop();
    throw error;
  }
}
