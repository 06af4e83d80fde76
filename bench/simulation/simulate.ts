import { clock } from '../../gateway/clock/clock.ts';
import { samplesIn } from '../../test/metrics/read-metrics.ts';
import { Random } from '../random.ts';
import { readOverHttp, readOverWebSocket, type ChainCallerParts } from '../soak/chain-callers.ts';
import { runChainFaults } from '../soak/chain-faults.ts';
import { ChainNetwork, type ChainNetworkOptions } from '../soak/chain-network.ts';
import { RespondingNodes } from '../soak/chain-node.ts';
import { pollFilters, subscribe, type EndCounts } from '../soak/chain-subscribers.ts';
import { checkedReads } from '../soak/checked-reads.ts';
import type { Client } from '../soak/client.ts';
import { ConsistencyChecker, type CheckerCounts } from '../soak/consistency-checker.ts';
import { includes, MAX_REORG_BLOCKS } from '../soak/true-chain.ts';
import { verifiedResults, type VerifiedResults } from '../soak/verified-results.ts';
import { Violations, type ViolationKind } from '../soak/violations.ts';
import { MemoryNode } from './memory-node.ts';
import { RecordedEvents } from './recorded-events.ts';
import { SimulatedGateway } from './simulated-gateway.ts';

export interface SimulationOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly network: Omit<ChainNetworkOptions, 'blockMs'>;
  /** Whether the events before a violation are in its text. */
  readonly showsEvents?: boolean;
  /** Changes the clients, to plant a violation. */
  readonly wrap?: (client: Client) => Client;
}

export interface SimulationResult {
  readonly seed: number;
  /** Digest of all events with their times. */
  readonly digest: string;
  readonly events: number;
  readonly blocks: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly counts: CheckerCounts;
  /** How subscriptions and filters ended. */
  readonly ends: EndCounts;
  readonly violations: number;
  readonly kinds: readonly ViolationKind[];
  /** The first violations of each kind. */
  readonly texts: readonly string[];
  /** Upstreams that were marked although they had the blocks of the chain. */
  readonly wrongMarks: number;
  /** Verified results; empty without `verify`. */
  readonly verified: VerifiedResults;
}

const BLOCK_MS = 2_000;
const MAX_PAUSE_MS = 4_000;
/** Faults end before the run does, by the time after which the gateway knows all nodes again. */
const CALM_MS = 60_000;
const SHOWN = 3;

/** Runs one network for a time of the clock, which must be a simulated one that something advances. */
export async function simulate({
  seed,
  minutes,
  network,
  showsEvents = false,
  wrap = (client) => client,
}: SimulationOptions): Promise<SimulationResult> {
  const random = new Random(seed);
  const next = (): Random => new Random(random.between(1, 1e9));
  const events = new RecordedEvents();
  const nodes: MemoryNode[] = [];
  const chain = await ChainNetwork.start({ ...network, blockMs: BLOCK_MS }, next(), events, (...args) => {
    const [chainId, views, , onCall] = args;
    const node = new MemoryNode(nodes.length + 1, new RespondingNodes(chainId, views, onCall), next());
    nodes.push(node);
    return Promise.resolve(node);
  });
  chain.mine();
  const gateway = new SimulatedGateway(chain, nodes);
  const connect = () => wrap(gateway.connect());
  await untilServing(connect());
  const startedAt = clock.now();
  const deadline = startedAt + minutes * 60_000;
  const texts: string[] = [];
  const violations = new Violations(SHOWN, startedAt, (text) => {
    texts.push(
      `${showsEvents ? `${events.describe(startedAt)}\n` : ''}${text} [${[...chain.activeFaults].join(', ')}]`,
    );
  });
  const checker = new ConsistencyChecker(chain.history, violations);
  const ends: EndCounts = {};
  const onMessage = (text: string): void => {
    events.addExchange(`client: ${text}`);
  };
  const parts = (): ChainCallerParts => ({
    ...{ connect, checker, random: next(), maxPauseMs: MAX_PAUSE_MS, deadline, onMessage },
  });
  void reorgAfterStart(chain, next());
  const wrongMarks = countWrongMarks(chain, gateway, deadline);
  const faults = runChainFaults(chain, next(), deadline - CALM_MS);
  const callers = [readOverHttp, readOverHttp, readOverWebSocket].map((call) => call(parts()));
  const followers = network.hasFollowers ? [subscribe, subscribe, pollFilters] : [];
  await Promise.all([...callers, ...followers.map((follow) => follow(parts(), ends))]);
  checker.checkMeanLag(clock.now(), network.name);
  return {
    ...{ seed, digest: events.digest(), events: events.count, blocks: chain.head.number, faults: await faults },
    ...{ counts: checker.counts, ends, violations: violations.total, kinds: violations.kinds, texts },
    wrongMarks: await wrongMarks,
    verified: verifiedResults(samplesIn(await gateway.metrics()), network.name),
  };
}

/** Replaces more blocks than the gateway has seen since its start. */
async function reorgAfterStart(chain: ChainNetwork, random: Random): Promise<void> {
  await clock.sleep(random.between(2_000, 8_000));
  const removed = random.between(8, MAX_REORG_BLOCKS);
  chain.reorg(removed, removed + 1);
}

/** A node that has the blocks of the chain for this time is known to have them. */
const KNOWN_MS = 20_000;

/** Looks each second which upstreams have been marked since. */
async function countWrongMarks(chain: ChainNetwork, gateway: SimulatedGateway, deadline: number): Promise<number> {
  const rightSince = new Map<string, number>();
  let before: readonly string[] = [];
  let count = 0;
  for (; clock.now() < deadline; await clock.sleep(1_000)) {
    const { marked } = gateway;
    for (const [index, { view, isLive }] of chain.nodes.entries()) {
      const name = `node-${index}`;
      const since = isLive && includes(chain.head, view.head) ? (rightSince.get(name) ?? clock.now()) : Infinity;
      rightSince.set(name, since);
      const isNew = marked.includes(name) && !before.includes(name);
      if (isNew && clock.now() - since >= KNOWN_MS) count++;
    }
    before = marked;
  }
  return count;
}

/** Waits until the network returns its head. */
async function untilServing(client: Client): Promise<void> {
  const { method, params } = checkedReads.taggedBlock('latest');
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  while ('error' in (JSON.parse(await client.post(body)) as object)) await clock.sleep(100);
}
