import { describe, expect, it, onTestFinished } from 'vitest';
import type { CanonicalChain, ChainChange } from '../../gateway/heads/canonical-chain.ts';
import { parseHeader } from '../../gateway/heads/header.ts';
import { HeadsFeed } from '../../gateway/subscriptions/feeds/heads-feed.ts';
import { eventually } from '../auth/eventually.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network, startGateway } from '../support/gateway.ts';
import { startChainNode } from './chain-node.ts';
import { ScriptedChain } from './scripted-chain.ts';
import { openSubscriber } from './subscriber.ts';

/** What `types.Header` has beyond the members of every block (geth 1.17.5, core/types/gen_header_json.go). */
const ofForks = {
  ...{ withdrawalsRoot: null, blobGasUsed: null, excessBlobGas: null, parentBeaconBlockRoot: null },
  ...{ requestsHash: null, blockAccessListHash: null, slotNumber: null },
};

type Header = Record<string, unknown>;

/** The newHeads notification of a new block, by the transport of the gateway's upstream. */
async function headOver(transport: 'http' | 'websocket', change: (block: Header) => Header): Promise<unknown> {
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
    const node = await startChainNode(7, chain, (header) => ({ ...change(header), ...ofForks }));
    onTestFinished(() => node.stop());
    upstream = { name: 'node', websocketUrl: node.url };
  }
  const gateway = await startGateway({ seven: network(7, [], { upstreams: [upstream] }) });
  onTestFinished(() => gateway.stop());
  const subscriber = await openSubscriber(gateway, 'seven');
  onTestFinished(() => {
    subscriber.caller.socket.terminate();
  });
  const told = await subscriber.subscribe('newHeads');
  const { header } = chain.mine();
  await eventually(() => told.length > 0, 10_000);
  const [head] = told as [Header];
  expect(head['number']).toBe(header.number);
  return { ...head, hash: '', parentHash: '', number: '', timestamp: '' };
}

describe('a header of newHeads', () => {
  it('has the members over an HTTP upstream that geth sends over WebSocket, null where a fork has not brought them', async () => {
    const overHttp = await headOver('http', (block) => block);
    expect(overHttp).toEqual(await headOver('websocket', (block) => block));
    expect(overHttp).toMatchObject({ ...ofForks, baseFeePerGas: '0x7' });
    expect(overHttp).not.toHaveProperty('transactions');
  });

  it('has the same members whether an upstream sent it or the gateway fetched the block', () => {
    let watcher: (change: ChainChange) => void = () => undefined;
    const chain = {
      watch: (listener: (change: ChainChange) => void) => {
        watcher = listener;
        return () => undefined;
      },
    } as unknown as CanonicalChain;
    const told: Header[] = [];
    const tell = (results: readonly string[]): void => {
      told.push(...results.map((text) => JSON.parse(text) as Header));
    };
    new HeadsFeed(chain, undefined).join({ deliver: tell, markGap: () => undefined });
    const { header: sent } = new ScriptedChain().head;
    const read = (block: object): ChainChange['added'] =>
      [parseHeader({ ...sent, ...block })].flatMap((one) => one ?? []);
    // Fetched before any notification, sent, and fetched to fill a gap.
    watcher({
      removed: [],
      added: [...read({ transactions: [] }), ...read({ own: '0x1' }), ...read({ transactions: [] })],
    });
    expect(told).toEqual([
      { ...sent, ...ofForks },
      { ...sent, own: '0x1' },
      { ...sent, own: null },
    ]);
  });

  it('keeps what the block has', async () => {
    const some = { slotNumber: '0x5', requestsHash: `0x${'1'.repeat(64)}`, l1BlockNumber: '0x9' };
    expect(await headOver('http', (block) => ({ ...block, ...some }))).toMatchObject({ ...ofForks, ...some });
  });

  it.each(['http', 'websocket'] as const)('has quantities without leading zeros, over %s', async (transport) => {
    const odd = { gasUsed: '0x005208', difficulty: '0x00', gasLimit: 30_000_000, miner: '0x' };
    expect(await headOver(transport, (block) => ({ ...block, ...odd }))).toMatchObject({
      ...{ gasUsed: '0x5208', difficulty: '0x0', gasLimit: '0x1c9c380', miner: null },
    });
  });
});
