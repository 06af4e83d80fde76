import type { FeedEvents, PolledUpstream } from '../../gateway/chain/poller.ts';
import { ChainPoller } from '../../gateway/chain/poller.ts';
import { clock } from '../../gateway/clock/clock.ts';
import { openLog } from '../../gateway/config/log.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import type { ScriptedChain } from './scripted-chain.ts';

/** An upstream in simulated time. */
export interface SimulatedUpstream extends PolledUpstream {
  /** The chain that it returns; tests replace it. */
  chain: ScriptedChain;
  /** Infinity: it does not respond. */
  respondsAfterMs: number;
  /** Response to a request for a block by hash, instead of the block. */
  byHash: ((hash: string) => unknown) | undefined;
  /** Number of requests, without those for the latest block. */
  fetched: number;
  /** Events of the last subscription. */
  events: FeedEvents | undefined;
}

export function simulatedUpstream(name: string, chain: ScriptedChain, hasFeed = false): SimulatedUpstream {
  const upstream: SimulatedUpstream = {
    name,
    group: name,
    chain,
    respondsAfterMs: 10,
    byHash: undefined,
    fetched: 0,
    events: undefined,
    circuit: { isClosed: true },
    isOnOtherChain: false,
    isHeadUncertain: false,
    metrics: new Metrics().upstreamMetrics('test', name),
    verifyChain: () => Promise.resolve(true),
    isUnwatched: () => false,
    subscribe: (_, events) => {
      if (!hasFeed) return undefined;
      upstream.events = events;
      return { close: () => undefined };
    },
    fetchResult: async (method, params) => {
      const [which] = JSON.parse(params) as [string];
      if (which !== 'latest') upstream.fetched++;
      if (upstream.respondsAfterMs === Infinity) return new Promise<never>(() => undefined);
      await clock.sleep(upstream.respondsAfterMs);
      if (method === 'eth_getBlockByNumber') return upstream.chain.byNumber(which);
      return upstream.byHash === undefined ? upstream.chain.byHash(which) : upstream.byHash(which);
    },
  };
  return upstream;
}

/** The poller of a network with these upstreams, with the usual times. */
export function pollerOf(upstreams: readonly SimulatedUpstream[]): ChainPoller<SimulatedUpstream> {
  const metrics = new Metrics().networkMetrics('test');
  return new ChainPoller(upstreams, metrics, { isDevelopment: false, log: openLog('silent') });
}
