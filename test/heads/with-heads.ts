import { onTestFinished } from 'vitest';
import type { ChainChange } from '../../gateway/heads/canonical-chain.ts';
import type { HeadTimes } from '../../gateway/heads/head-times.ts';
import { openLog, type Log } from '../../gateway/config/log.ts';
import { NetworkHeads } from '../../gateway/heads/network-heads.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import { HttpUpstream } from '../../gateway/upstreams/transport/http-upstream.ts';
import { Upstream } from '../../gateway/upstreams/upstream.ts';
import { WebSocketUpstream } from '../../gateway/upstreams/transport/websocket-upstream.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { startFakeWebSocketNode, type FakeWebSocketNode } from '../support/fake-websocket-node.ts';
import type { ScriptedChain } from './scripted-chain.ts';

export const CHAIN_ID = 7;

/** As the usual ones are to each other, but a hundredth. */
export const quick: HeadTimes = {
  watchedMin: 20,
  watchedMax: 40,
  usedMin: 30,
  usedMax: 60,
  usedFor: 400,
  confirmMin: 10,
  silence: 100,
  lateMs: 20,
  backoffMax: 50,
  start: 300,
};

export interface ScriptedNode extends FakeNode {
  /** What it shows from now on. */
  chain: ScriptedChain;
  /** Calls that look at its head. */
  readonly looks: () => number;
  /** How often blocks other than the newest were fetched of it. */
  readonly fetched: () => number;
}

export async function scriptedNode(chain: ScriptedChain): Promise<ScriptedNode> {
  const node = await startFakeNode({ chainId: CHAIN_ID });
  const scripted: ScriptedNode = {
    ...node,
    chain,
    looks: () => node.callsOf('eth_getBlockByNumber').filter(({ params }) => firstOf(params) === 'latest').length,
    fetched: () =>
      node.callsOf('eth_getBlockByHash').length +
      node.callsOf('eth_getBlockByNumber').filter(({ params }) => firstOf(params) !== 'latest').length,
  };
  node.response('eth_getBlockByNumber', (params: unknown) => scripted.chain.byNumber(firstOf(params)));
  node.response('eth_getBlockByHash', (params: unknown) => scripted.chain.byHash(firstOf(params)));
  onTestFinished(() => node.close());
  return scripted;
}

function firstOf(params: unknown): string {
  return (params as [string])[0];
}

export interface Followed {
  readonly heads: NetworkHeads;
  readonly upstreams: readonly Upstream[];
  /** Every change since `watch`. */
  readonly changes: ChainChange[];
  /** Watches, and waits for the head. */
  readonly watch: () => Promise<() => void>;
  readonly metrics: Metrics;
}

/** Real upstreams, and the heads of a network that has them. */
export function follow(
  addresses: readonly { readonly url: string; readonly webSocketUrl?: string | undefined }[],
  times: Partial<HeadTimes> = {},
  log: Log = openLog('silent'),
): Followed {
  const metrics = new Metrics();
  const upstreams = addresses.map(({ url, webSocketUrl }, index) => {
    const options = { headers: {}, responseMaxBytes: 1_000_000 };
    return new Upstream({
      name: `node-${index}`,
      chainId: CHAIN_ID,
      transport: new HttpUpstream({ url, connections: 8, ...options }),
      ...(webSocketUrl !== undefined && { webSocket: new WebSocketUpstream({ url: webSocketUrl, ...options }) }),
      timeoutMs: 1_000,
      metrics: metrics.upstreamMetrics('test', `node-${index}`),
      log,
    });
  });
  const heads = new NetworkHeads(upstreams, metrics.heads.networkMetrics('test'), { ...quick, ...times });
  const changes: ChainChange[] = [];
  onTestFinished(async () => {
    heads.close();
    await Promise.all(upstreams.map((upstream) => upstream.close()));
  });
  const watch = async (): Promise<() => void> => {
    const stop = heads.watch((change) => changes.push(change));
    await heads.current(2_000);
    return stop;
  };
  return { heads, upstreams, changes, watch, metrics };
}

export interface WithHeads extends Followed {
  readonly nodes: readonly ScriptedNode[];
}

/** The same in front of scripted nodes, one for each chain. */
export async function withHeads(
  chains: readonly ScriptedChain[],
  times: Partial<HeadTimes> = {},
  log?: Log,
): Promise<WithHeads> {
  const nodes = await Promise.all(chains.map(scriptedNode));
  return { nodes, ...follow(nodes, times, log) };
}

/** The same with one scripted node, which has a WebSocket, too. */
export async function withNewHeads(chain: ScriptedChain, times: Partial<HeadTimes> = {}, feedChainId = CHAIN_ID) {
  const node = await scriptedNode(chain);
  const feed = await startFakeWebSocketNode(feedChainId);
  onTestFinished(() => feed.stop());
  return { node, feed, ...follow([{ url: node.url, webSocketUrl: feed.url }], times) };
}

/** Tells all who subscribed at a node over WebSocket of a new head. */
export function tellHead({ sockets, calls }: FakeWebSocketNode, { head }: ScriptedChain): void {
  for (const socket of sockets) {
    if (!calls.some((call) => call.socket === socket && call.method === 'eth_subscribe')) continue;
    const params = { subscription: '0x1', result: { ...head, transactions: undefined } };
    socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params }));
  }
}

/** What a watcher who goes by changes alone believes to be the chain, oldest first; throws where they do not fit. */
export function replay(changes: readonly ChainChange[]): string[] {
  const chain: string[] = [];
  let parent: string | undefined;
  for (const { removed, added, hasGap: isFresh } of changes) {
    if (isFresh === true) {
      chain.length = 0;
      parent = undefined;
    }
    for (const { hash, parentHash } of removed) {
      const taken = chain.pop();
      if (taken !== undefined && taken !== hash) throw new Error('another block is removed than was added last');
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

export async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}
