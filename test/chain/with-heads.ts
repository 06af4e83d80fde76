import { onTestFinished } from 'vitest';
import type { ChainPeers } from '../../gateway/chain/chain-peers.ts';
import type { ChainChange } from '../../gateway/chain/header-ring.ts';
import type { PollTimes } from '../../gateway/chain/poll-times.ts';
import { ChainPoller } from '../../gateway/chain/poller.ts';
import { openLog, type Log } from '../../gateway/config/log.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import { HttpUpstream } from '../../gateway/upstreams/transport/http-upstream.ts';
import { Upstream } from '../../gateway/upstreams/upstream.ts';
import { WebSocketUpstream } from '../../gateway/upstreams/transport/websocket-upstream.ts';
import { configOf } from '../network-files/load.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { startFakeWebSocketNode, type FakeWebSocketNode } from '../support/fake-websocket-node.ts';
import type { ScriptedChain } from './scripted-chain.ts';
import { ownLimits } from '../support/own-limits.ts';

export const CHAIN_ID = 7;

/** About a hundredth of the default times. */
export const quick: PollTimes = {
  watchedMinMs: 20,
  watchedMaxMs: 40,
  expectedMinMs: Infinity,
  usedMinMs: 30,
  usedMaxMs: 60,
  idleAfterMs: 400,
  pauseMs: 30_000,
  confirmMinMs: 10,
  silenceMs: 100,
  lateMs: 20,
  catchUpWaitMs: 100,
  catchUpMinMs: 20,
  backoffMaxMs: 50,
  firstPollsMs: 300,
  startMs: 300,
};

export interface ScriptedNode extends FakeNode {
  /** The chain that the node returns; tests replace it. */
  chain: ScriptedChain;
  /** Number of requests for the latest block. */
  readonly polls: () => number;
  /** Number of requests for other blocks, without those before the first one of its chain. */
  readonly fetched: () => number;
}

export async function scriptedNode(chain: ScriptedChain): Promise<ScriptedNode> {
  const node = await startFakeNode({ chainId: CHAIN_ID });
  const scripted: ScriptedNode = {
    ...node,
    chain,
    polls: () => node.callsOf('eth_getBlockByNumber').filter(({ params }) => firstOf(params) === 'latest').length,
    fetched: () =>
      node.callsOf('eth_getBlockByHash').length +
      node.callsOf('eth_getBlockByNumber').filter(({ params }) => scripted.chain.isAfterFirst(firstOf(params))).length,
  };
  node.response('eth_getBlockByNumber', (params: unknown) => scripted.chain.byNumber(firstOf(params)));
  node.response('eth_getBlockByHash', (params: unknown) => scripted.chain.byHash(firstOf(params)));
  onTestFinished(() => node.close());
  return scripted;
}

function firstOf(params: unknown): string {
  return (params as [string])[0];
}

export interface FollowOptions extends Partial<PollTimes> {
  readonly isDevelopment?: boolean;
  /** The upstreams are one group: none of the rules for several groups applies. */
  readonly oneGroup?: boolean;
  readonly peers?: ChainPeers;
}

export interface Followed {
  readonly poller: ChainPoller<Upstream>;
  readonly upstreams: readonly Upstream[];
  /** All changes since `watch`. */
  readonly changes: ChainChange[];
  /** Watches, and waits for the head. */
  readonly watch: () => Promise<() => void>;
  readonly metrics: Metrics;
}

/** Upstreams at these addresses, and the poller of a network with them. */
export function follow(
  addresses: readonly { readonly url: string; readonly webSocketUrl?: string | undefined }[],
  { isDevelopment = false, oneGroup = false, peers, ...times }: FollowOptions = {},
  log: Log = openLog('silent'),
): Followed {
  const metrics = new Metrics();
  const upstreams = addresses.map(({ url, webSocketUrl }, index) => {
    const options = { name: `node-${index}`, headers: {}, responseMaxBytes: 1_000_000 };
    const [config] = configOf('test', {
      upstreams: [{ name: `node-${index}`, url, ...(oneGroup && { group: 'one' }) }],
    }).upstreams;
    if (config === undefined) throw new Error('the network has no upstream');
    return new Upstream(config, config, {
      chainId: CHAIN_ID,
      shared: ownLimits(),
      transport: new HttpUpstream({ url, connections: 8, ...options }),
      ...(webSocketUrl !== undefined && { webSocket: new WebSocketUpstream({ url: webSocketUrl, ...options }) }),
      // Longer than a response takes on a loaded machine.
      defaultTimeoutMs: 20_000,
      metrics: metrics.upstreamMetrics('test', `node-${index}`),
      log,
    });
  });
  const poller = new ChainPoller(upstreams, metrics.networkMetrics('test'), {
    isDevelopment,
    times: { ...quick, ...times },
    log,
    peers,
  });
  const changes: ChainChange[] = [];
  onTestFinished(async () => {
    poller.close();
    await Promise.all(upstreams.map((upstream) => upstream.close()));
  });
  const watch = async (): Promise<() => void> => {
    const stop = poller.watch((change) => changes.push(change));
    await poller.waitForHead(20_000);
    return stop;
  };
  return { poller, upstreams, changes, watch, metrics };
}

export interface WithHeads extends Followed {
  readonly nodes: readonly ScriptedNode[];
}

/** The same with scripted nodes, one for each chain. */
export async function withHeads(
  chains: readonly ScriptedChain[],
  options: FollowOptions = {},
  log?: Log,
): Promise<WithHeads> {
  const nodes = await Promise.all(chains.map(scriptedNode));
  return { nodes, ...follow(nodes, options, log) };
}

/** The same with one scripted node that has a WebSocket as well. */
export async function withNewHeads(chain: ScriptedChain, options: FollowOptions = {}, feedChainId = CHAIN_ID) {
  const node = await scriptedNode(chain);
  const feed = await startFakeWebSocketNode(feedChainId);
  onTestFinished(() => feed.stop());
  return { node, feed, ...follow([{ url: node.url, webSocketUrl: feed.url }], options) };
}

/** Sends a new head to all subscribers of a node over WebSocket. */
export function notifyHead({ sockets, calls }: FakeWebSocketNode, { head }: ScriptedChain): void {
  for (const socket of sockets) {
    if (!calls.some((call) => call.socket === socket && call.method === 'eth_subscribe')) continue;
    const params = { subscription: '0x1', result: { ...head, transactions: undefined } };
    socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params }));
  }
}

/** The hashes of the chain that results from the changes, oldest first. Throws if the changes do not fit. */
export function replay(changes: readonly ChainChange[]): string[] {
  const chain: string[] = [];
  let parent: string | undefined;
  for (const { removed, added, hasGap } of changes) {
    if (hasGap === true) {
      chain.length = 0;
      parent = undefined;
    }
    for (const { hash, parentHash } of removed) {
      const last = chain.pop();
      if (last !== undefined && last !== hash) throw new Error('another block is removed than was added last');
      parent = parentHash;
    }
    for (const { hash, parentHash } of added) {
      if (parent !== undefined && parentHash !== parent) throw new Error('a block is added that has another parent');
      chain.push(hash);
      parent = hash;
    }
  }
  return chain;
}
