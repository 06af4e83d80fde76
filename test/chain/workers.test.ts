import { describe, expect, it, onTestFinished } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { ChainPeers, chainTopics, type ChainMessage } from '../../gateway/chain/chain-peers.ts';
import type { PollTimes } from '../../gateway/chain/poll-times.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { linkedWorkers } from '../workers/linked-workers.ts';
import { ScriptedChain } from './scripted-chain.ts';
import { follow, notifyHead, scriptedNode, withNewHeads, type Followed, type ScriptedNode } from './with-heads.ts';

/** Pollers of one network in workers of one machine, whose upstreams are the same nodes. */
async function inWorkers(count: number, nodes: number, times: Partial<PollTimes> = {}) {
  const chain = new ScriptedChain();
  const scripted = await Promise.all(Array.from({ length: nodes }, () => scriptedNode(chain)));
  const { workers, links } = await linkedWorkers(count);
  const followed = links.map((link): Followed => {
    const peers = new ChainPeers(link, 'test', 7);
    const own = follow(scripted, { peers, ...times });
    link.on(chainTopics.event, ({ event }: ChainMessage) => {
      own.poller.received(event);
    });
    return own;
  });
  const use = (): void => {
    for (const { poller } of followed) poller.markUsed(clock.now());
  };
  const timer = clock.setInterval(use, 10);
  const stopUse = (): void => {
    clock.clearInterval(timer);
  };
  onTestFinished(stopUse);
  use();
  return { chain, scripted, workers, links, followed, stopUse };
}

const [first, second] = [0, 1];

describe('heads', () => {
  it('are polled by one worker, and known to all', async () => {
    // An interval that no pause of a slow machine makes overdue.
    const { chain, scripted, followed } = await inWorkers(3, 2, { usedMinMs: 500, usedMaxMs: 500 });
    const isKnown = (): boolean => followed.every(({ poller }) => poller.view.number === chain.number);
    await eventually(isKnown);
    for (let mined = 0; mined < 3; mined++) {
      chain.mine();
      await eventually(isKnown);
    }
    for (const { metrics } of followed.slice(1)) {
      const page = await metrics.registry.metrics();
      expect(page).not.toContain('gatehouse_head_polls_total{');
    }
    await eventually(() => scripted.every((node) => node.polls() >= 4));
  });

  it('are polled as often for the subscribers of any worker as for those of the first one', async () => {
    // Within three intervals of its own, the second worker does not poll.
    const times = { watchedMinMs: 400, watchedMaxMs: 400, usedMinMs: 2_500, usedMaxMs: 2_500 };
    const { scripted, followed } = await inWorkers(2, 1, times);
    await followed[second]?.watch();
    const before = scripted[0]?.polls() ?? 0;
    // 3.2 s. In the intervals of a network without subscribers, it would be 20 s.
    await eventually(() => (scripted[0]?.polls() ?? 0) >= before + 8, 10_000);
  });

  it('are not polled any more when no worker uses the network', async () => {
    const { scripted, followed, stopUse } = await inWorkers(3, 1);
    await eventually(() => followed.every(({ poller }) => poller.view.number !== undefined));
    stopUse();
    // The head of an upstream is forgotten when polls end.
    await eventually(() =>
      followed.every(({ poller, upstreams }) => poller.view.headOf(upstreams[0] as never) === undefined),
    );
    const polls = scripted[0]?.polls();
    await staysTrueFor(300, () => scripted[0]?.polls() === polls);
  });

  it('are polled by the next worker when the first one ends', async () => {
    const { chain, scripted, workers, followed } = await inWorkers(2, 1);
    await eventually(() => followed.every(({ poller }) => poller.view.number === chain.number));
    followed[first]?.poller.close();
    workers.end(1);
    chain.mine();
    const polls = scripted[0]?.polls() ?? 0;
    await eventually(() => followed[second]?.poller.view.number === chain.number);
    expect(scripted[0]?.polls()).toBeGreaterThan(polls);
  });

  it('are polled by another worker while the first one hangs', async () => {
    const { chain, workers, followed } = await inWorkers(2, 1);
    await eventually(() => followed.every(({ poller }) => poller.view.number === chain.number));
    followed[first]?.poller.close();
    workers.stop(1);
    chain.mine();
    await eventually(() => followed[second]?.poller.view.number === chain.number);
  });
});

it('a node that starts again from genesis is followed in all workers, whichever knew a final block', async () => {
  const { chain, scripted, followed } = await inWorkers(3, 1);
  const [node] = scripted as [ScriptedNode];
  const wiped = chain.copy();
  chain.mine(20);
  const areAt = (number: bigint): boolean => followed.every(({ poller }) => poller.view.head?.number === number);
  await eventually(() => areAt(chain.number));
  followed[second]?.poller.finalized(chain.number - 5n);
  node.chain = wiped;
  await eventually(() => areAt(wiped.number));
});

it('a new worker learns what the others know', async () => {
  const { chain, workers, followed } = await inWorkers(1, 1);
  const { poller, upstreams } = followed[first] as Followed;
  await eventually(() => poller.view.number === chain.number);
  poller.served(upstreams[0] as never, { number: chain.number + 1n }, clock.now());
  const link = workers.open(2);
  const joining = follow([{ url: 'http://127.0.0.1:1' }], { peers: new ChainPeers(link, 'test', 7) });
  for (const event of poller.state) joining.poller.received(structuredClone(event));
  expect(joining.poller.view.number).toBe(chain.number + 1n);
  expect(joining.poller.view.newestServed).toBe(chain.number + 1n);
});

it('a worker that reloads after the subscription to a new upstream began knows of it by the next head', async () => {
  const chain = new ScriptedChain();
  const { links } = await linkedWorkers(2);
  const [peers, otherPeers] = links.map((link) => new ChainPeers(link, 'test', 7));
  const polling = await withNewHeads(chain, { silenceMs: 60_000, ...(peers && { peers }) });
  const addresses = [{ url: polling.node.url, webSocketUrl: polling.feed.url }];
  const other = follow(addresses, { silenceMs: 60_000, ...(otherPeers && { peers: otherPeers }) });
  links[1]?.on(chainTopics.event, ({ event }: ChainMessage) => {
    other.poller.received(event);
  });
  const isSubscribed = ({ poller, upstreams: [upstream] }: Followed): boolean =>
    poller.view.upstreams.get(upstream as never)?.isSubscribed === true;
  other.poller.replaceUpstreams([]);
  await polling.watch();
  await eventually(() => isSubscribed(polling));
  other.poller.replaceUpstreams(other.upstreams);
  chain.mine();
  notifyHead(polling.feed, chain);
  await eventually(() => isSubscribed(other) && other.poller.view.number === chain.number);
});
