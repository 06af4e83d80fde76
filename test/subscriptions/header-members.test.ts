import { describe, expect, it, onTestFinished } from 'vitest';
import type { ChainChange } from '../../gateway/chain/header-ring.ts';
import type { WatchedChain } from '../../gateway/chain/poller.ts';
import { parseHeader } from '../../gateway/chain/header.ts';
import { HeadsFeed } from '../../gateway/subscriptions/feeds/heads-feed.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network, startGateway } from '../support/gateway.ts';
import { startChainNode } from './chain-node.ts';
import { ScriptedChain } from './scripted-chain.ts';
import { openSubscriber } from './subscriber.ts';

/** Members of `types.Header` that not every block has (geth 1.17.5, core/types/gen_header_json.go). */
const forkMembers = {
  ...{ withdrawalsRoot: null, blobGasUsed: null, excessBlobGas: null, parentBeaconBlockRoot: null },
  ...{ requestsHash: null, blockAccessListHash: null, slotNumber: null },
};

type Header = Record<string, unknown>;

/** The newHeads notification of a new block, by the transport of the gateway's upstream. */
async function headFrom(transport: 'http' | 'websocket', change: (block: Header) => Header): Promise<unknown> {
  const chain = new ScriptedChain();
  const { eth_getBlockByNumber: byNumber, ...responses } = chain.responses();
  const changed = (params: [string]): unknown => {
    const block = (byNumber as (params: [string]) => Header | undefined)(params);
    return block && change(block);
  };
  let upstream: object;
  if (transport === 'http') {
    const node = await startFakeNode({ chainId: 7, responses: { ...responses, eth_getBlockByNumber: changed } });
    onTestFinished(() => node.close());
    upstream = { name: 'node', url: node.url };
  } else {
    const node = await startChainNode(7, chain, (header) => ({ ...change(header), ...forkMembers }));
    onTestFinished(() => node.stop());
    upstream = { name: 'node', websocketUrl: node.url };
  }
  const gateway = await startGateway({ seven: network(7, [], { upstreams: [upstream] }) });
  onTestFinished(() => gateway.stop());
  const subscriber = await openSubscriber(gateway, 'seven');
  onTestFinished(() => {
    subscriber.caller.socket.terminate();
  });
  const notifications = await subscriber.subscribe('newHeads');
  const { header } = chain.mine();
  await eventually(() => notifications.length > 0);
  const [head] = notifications as [Header];
  expect(head['number']).toBe(header.number);
  return { ...head, hash: '', parentHash: '', number: '', timestamp: '' };
}

describe('a header of newHeads', () => {
  it('from an HTTP upstream has all members that geth sends over WebSocket, null before the fork that adds them', async () => {
    const overHttp = await headFrom('http', (block) => block);
    expect(overHttp).toEqual(await headFrom('websocket', (block) => block));
    expect(overHttp).toMatchObject({ ...forkMembers, baseFeePerGas: '0x7' });
    expect(overHttp).not.toHaveProperty('transactions');
  });

  it('has the same members whether an upstream sent it or the gateway fetched the block', () => {
    let watcher: (change: ChainChange) => void = () => undefined;
    const chain = {
      watch: (listener: (change: ChainChange) => void) => {
        watcher = listener;
        return () => undefined;
      },
    } as unknown as WatchedChain;
    const notifications: Header[] = [];
    const deliver = (results: readonly string[]): void => {
      notifications.push(...results.map((text) => JSON.parse(text) as Header));
    };
    new HeadsFeed(chain, undefined).join({ deliver, markGap: () => undefined });
    const { header: sent } = new ScriptedChain().head;
    const read = (block: object): ChainChange['added'] =>
      [parseHeader({ ...sent, ...block })].flatMap((header) => header ?? []);
    // Fetched before any notification, sent, and fetched to fill a gap.
    watcher({
      removed: [],
      added: [...read({ transactions: [] }), ...read({ own: '0x1' }), ...read({ transactions: [] })],
    });
    expect(notifications).toEqual([
      { ...sent, ...forkMembers },
      { ...sent, own: '0x1' },
      { ...sent, own: null },
    ]);
  });

  it('has the members of the block', async () => {
    const some = { slotNumber: '0x5', requestsHash: `0x${'1'.repeat(64)}`, l1BlockNumber: '0x9' };
    expect(await headFrom('http', (block) => ({ ...block, ...some }))).toMatchObject({ ...forkMembers, ...some });
  });

  it.each(['http', 'websocket'] as const)('has quantities without leading zeros, over %s', async (transport) => {
    const odd = { gasUsed: '0x005208', difficulty: '0x00', gasLimit: 30_000_000, miner: '0x' };
    expect(await headFrom(transport, (block) => ({ ...block, ...odd }))).toMatchObject({
      ...{ gasUsed: '0x5208', difficulty: '0x0', gasLimit: '0x1c9c380', miner: null },
    });
  });
});
