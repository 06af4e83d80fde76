import { Random } from '../random.ts';
import { readOverHttp, readOverWebSocket } from './chain-callers.ts';
import { NetworkClient } from './client.ts';
import type { ChainNetwork, ChainNetworkOptions } from './chain-network.ts';
import { pollFilters, subscribe, type EndCounts } from './chain-subscribers.ts';
import { ConsistencyChecker } from './consistency-checker.ts';
import type { SoakGateway } from './soak-gateway.ts';
import type { Violations } from './violations.ts';

/**
 * Several upstreams, with and without subscribers, whose feeds poll heads more often; one URL with several nodes; one node
 * that starts again from genesis.
 */
export const networks = [
  { name: 'nodes', chainId: 7_701, nodes: 3, isPool: false, hasFollowers: true },
  { name: 'polled', chainId: 7_702, nodes: 2, isPool: false, hasFollowers: false },
  { name: 'pool', chainId: 7_703, nodes: 2, isPool: true, hasFollowers: true },
  { name: 'restarts', chainId: 7_771, nodes: 1, isPool: false, hasFollowers: true },
] as const satisfies readonly Omit<ChainNetworkOptions, 'blockMs'>[];

/** Two HTTP readers, one WebSocket reader, two subscribers and one filter client for each network at each gateway. */
const callers = [readOverHttp, readOverHttp, readOverWebSocket] as const;
const followers = [subscribe, subscribe, pollFilters] as const;

/** Maximum time between two calls of one client. */
const MAX_PAUSE_MS = 120;

/** The callers of one network at one gateway, and the checker of what they receive. */
export class CheckedNetwork {
  readonly name: string;
  readonly violations: Violations;
  readonly checker: ConsistencyChecker;
  readonly ends: EndCounts = {};
  readonly #gateway: SoakGateway;
  readonly #chain: ChainNetwork;

  /** @param wasDelayed whether this process was paused since */
  constructor(
    gateway: SoakGateway,
    chain: ChainNetwork,
    violations: Violations,
    wasDelayed: (since: number) => boolean,
  ) {
    this.name = `${gateway.name} ${chain.options.name}`;
    this.violations = violations;
    this.checker = new ConsistencyChecker(chain.history, violations, wasDelayed);
    this.#gateway = gateway;
    this.#chain = chain;
  }

  /** Runs all callers until the deadline, by clock.now(). */
  async run(random: Random, deadline: number): Promise<void> {
    const { name, hasFollowers } = this.#chain.options;
    const parts = () => ({
      connect: () => new NetworkClient(this.#gateway.urlOf(name), this.#gateway.webSocketUrlOf(name)),
      maxPauseMs: MAX_PAUSE_MS,
      ...{ checker: this.checker, deadline, random: new Random(random.between(1, 1e9)) },
      onMessage: (text: string): void => {
        this.#chain.events?.addExchange(`client of ${this.#gateway.name}: ${text}`);
      },
    });
    const following = hasFollowers ? followers.map((follow) => follow(parts(), this.ends)) : [];
    await Promise.all([...callers.map((call) => call(parts())), ...following]);
  }
}
