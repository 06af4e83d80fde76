import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fetchResult } from '../../parity/rpc-endpoint.ts';
import { socketUrl } from '../../server/websocket/caller.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { freePort } from '../../support/redis.ts';
import { osakaGenesis, THOUSAND_ETHER, type Allocations } from '../osaka-genesis.ts';
import { callerAccount, DayCallers, logger } from './day-callers.ts';
import { DayChain } from './day-chain.ts';
import type { DayBlock } from './day-block.ts';
import { DayNode } from './day-node.ts';
import { Subscriber } from './delivered.ts';
import { ServedView } from './served-view.ts';

/** One network of the gateway, with its callers. */
export interface ObservedNetwork {
  readonly slug: string;
  readonly view: ServedView;
  readonly callers: DayCallers;
  subscriber: Subscriber;
}

/** Two nodes, the gateway, and its networks: one polls the nodes, the other gets their notifications. */
export interface Day {
  readonly chain: DayChain;
  readonly gateway: TestGateway;
  readonly networks: readonly ObservedNetwork[];
  subscribe(network: Pick<ObservedNetwork, 'slug' | 'view'>): Promise<Subscriber>;
  stop(): Promise<void>;
}

/** Chain id of none of the development chains, so that responses are cached. */
const CHAIN_ID = 7771;
/** Blocks before the gateway starts, so that there are final ones. */
const EARLY_BLOCKS = 20;
const EARLY_SECONDS = 60;
const slugs = ['polled', 'pushed'] as const;

export async function startDay(binary: string): Promise<Day> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-day-'));
  const startedAt = Math.floor(Date.now() / 1_000) - EARLY_SECONDS;
  const genesis = JSON.stringify(makeGenesis(binary, startedAt));
  const args = ['--state.scheme', 'hash', '--gcmode', 'archive', '--syncmode', 'full', '--cache', '64'];
  const makeNode = async (name: string): Promise<DayNode> => {
    const [port, enginePort] = [await freePort(), await freePort()];
    const own = {
      binary,
      folder: join(folder, name),
      args: [...args, '--networkid', String(CHAIN_ID)],
      port,
      enginePort,
    };
    return new DayNode(own, genesis, () => genesisBlock);
  };
  const [first, second] = [await makeNode('first'), await makeNode('second')];
  await Promise.all([first.startAnew(), second.startAnew()]);
  const { hash } = await fetchResult<{ hash: string }>(first.rpc, 'eth_getBlockByNumber', '0x0', false);
  const genesisBlock: DayBlock = {
    ...{ number: 0, hash, parent: undefined, timestamp: startedAt, generation: 0, transactions: [], payload: [] },
    get finalized() {
      return genesisBlock;
    },
  };
  const chain = new DayChain(first, second, genesisBlock);
  for (let index = 1; index <= EARLY_BLOCKS; index++) await chain.build([], startedAt + index);
  await first.connectTo(second);

  // The node that gets its blocks late is preferred.
  const upstreams = [second, first].map(({ url, socketUrl: websocketUrl }, index) => ({
    file: { name: `node-${index}`, url },
    websocketUrl,
  }));
  const gateway = await startGateway({
    polled: { name: 'Polled', chainId: CHAIN_ID, upstreams: upstreams.map(({ file }) => file) },
    pushed: {
      ...{ name: 'Pushed', chainId: CHAIN_ID },
      upstreams: upstreams.map(({ file, websocketUrl }) => ({ ...file, websocketUrl })),
    },
  });
  const subscribe: Day['subscribe'] = ({ slug, view }) =>
    Subscriber.open(socketUrl(gateway, slug), view, logger.address);
  const running = chain.run();
  running.catch(() => undefined);
  const networks: ObservedNetwork[] = [];
  for (const [index, slug] of slugs.entries()) {
    const account = callerAccount(index);
    const view = new ServedView(chain, account.address);
    const callers = new DayCallers(view, account, gateway.url(slug), CHAIN_ID);
    const subscriber = await subscribe({ slug, view });
    await callers.start(socketUrl(gateway, slug));
    networks.push({ slug, view, callers, subscriber });
  }
  return {
    ...{ chain, gateway, networks, subscribe },
    async stop() {
      const ends = await Promise.allSettled([...networks.map(({ callers }) => callers.stop()), chain.end(), running]);
      for (const { subscriber } of networks) subscriber.close();
      await gateway.stop();
      await Promise.all([first.stop(), second.stop()]);
      rmSync(folder, { recursive: true, force: true });
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    },
  };
}

/** The genesis of a day, with the callers' accounts and the contract. */
function makeGenesis(binary: string, timestamp: number): object {
  const rich = slugs.map((_, index) => [callerAccount(index).address.slice(2), { balance: THOUSAND_ETHER }]);
  return osakaGenesis(binary, CHAIN_ID, timestamp, {
    ...(Object.fromEntries(rich) as Allocations),
    [logger.address.slice(2)]: { balance: '0x0', code: logger.code },
  });
}
