import { clock, type Timer } from '../../gateway/clock/clock.ts';
import type { ConnectionFault } from '../../test/faults/fault-proxy.ts';
import type { Random } from '../random.ts';
import { ChainHistory, type NodeHistory } from './chain-history.ts';
import { ChainNode, type ChainServer, type OnNodeCall } from './chain-node.ts';
import type { NodeSoftware, NodeView } from './node-responses.ts';
import { callText, responseText, type RecentEvents } from './recent-events.ts';
import { ancestorAt, includes, makeGenesis, mineBlock, type TrueBlock } from './true-chain.ts';

export interface ChainNetworkOptions {
  readonly name: string;
  readonly chainId: number;
  readonly nodes: number;
  /** Whether all nodes are behind one URL. */
  readonly isPool: boolean;
  /** Whether callers subscribe. */
  readonly hasFollowers: boolean;
  readonly blockMs: number;
  /** Level of the network file; undefined: off. */
  readonly verify?: 'enforce' | 'require' | undefined;
  /** Whether one node at a time forges blocks. */
  readonly isHostile?: boolean;
}

/** Blocks before the start, so that some are final. */
const FIRST_HEIGHT = 64;
/** Time in which a block reaches the other nodes, as a share of the block time. */
const MAX_PROPAGATION = 0.3;

const softwares: readonly NodeSoftware[] = [
  { rejectsFutureLogs: false, missingRawBlock: '0x' },
  { rejectsFutureLogs: true, missingRawBlock: null },
];

/** What a node of a network has, how it lags, and its URL. */
export interface NetworkNode {
  readonly view: NodeView & { head: TrueBlock };
  readonly history: NodeHistory;
  readonly server: ChainServer;
  isLive: boolean;
  /** Whether the node takes no blocks. */
  isStuck: boolean;
  isHostile: boolean;
  lagBlocks: number;
}

/** Starts the nodes behind one URL. */
export type StartNode = (...args: Parameters<typeof ChainNode.start>) => Promise<ChainServer>;

/** A network of scripted nodes that follow one true chain. */
export class ChainNetwork {
  readonly options: ChainNetworkOptions;
  readonly history: ChainHistory;
  readonly nodes: readonly NetworkNode[];
  /** Descriptions of the faults that the nodes have. */
  readonly activeFaults = new Set<string>();
  /** Latest events; undefined: they are not remembered. */
  readonly events: RecentEvents | undefined;
  readonly #random: Random;
  #head: TrueBlock;
  #salt = 0;
  #mining: Timer | undefined;

  private constructor(
    options: ChainNetworkOptions,
    random: Random,
    history: ChainHistory,
    nodes: NetworkNode[],
    events: RecentEvents | undefined,
  ) {
    this.options = options;
    this.events = events;
    this.history = history;
    this.nodes = nodes;
    this.#random = random;
    this.#head = history.headAt(clock.now());
  }

  /** @param startNode default: nodes that are servers of this process */
  static async start(
    options: ChainNetworkOptions,
    random: Random,
    events?: RecentEvents,
    startNode: StartNode = (...args) => ChainNode.start(...args),
  ): Promise<ChainNetwork> {
    const { nodes: count, isPool, chainId, blockMs } = options;
    const history = new ChainHistory(isPool);
    let head = makeGenesis(Math.floor((clock.unixMs() - FIRST_HEIGHT * blockMs) / 1_000));
    while (head.number < FIRST_HEIGHT) {
      head = mineBlock(head, options.name, Math.floor(head.timestamp + blockMs / 1_000), head);
    }
    history.setHead(-Infinity, head);
    const views = Array.from({ length: count }, (_, index) => {
      const software = softwares[index % softwares.length] as NodeSoftware;
      return { head, software };
    });
    const onCall =
      (first: number): OnNodeCall =>
      (index, client, { method, params }, response) => {
        events?.addExchange(
          `node ${first + index} ← ${client}: ${callText(method, params)}: ${responseText(response)}`,
        );
      };
    const pool = isPool ? await startNode(chainId, views, random, onCall(0)) : undefined;
    const nodes: NetworkNode[] = [];
    for (const [index, view] of views.entries()) {
      const server = pool ?? (await startNode(chainId, [view], random, onCall(index)));
      const node = {
        view,
        server,
        history: history.addNode(),
        isLive: true,
        isStuck: false,
        isHostile: false,
        lagBlocks: 0,
      };
      // Before the start, the nodes were at the head for as long as the checker asks.
      node.history.add(-Infinity, head, true);
      nodes.push(node);
    }
    return new ChainNetwork(options, random, history, nodes, events);
  }

  get head(): TrueBlock {
    return this.#head;
  }

  /** The network file for a gateway. @param client path by which nodes identify the gateway */
  file(client = ''): object {
    const { name, chainId, isPool, verify } = this.options;
    const ports = [...new Set(this.nodes.map(({ server }) => server.port))];
    const upstreams = ports.map((port, index) => ({
      ...{ name: `node-${index}`, url: `http://127.0.0.1:${port}/${client}`, maxResponseBytes: 1_000_000 },
      ...(isPool || index === 0 ? {} : { websocketUrl: `ws://127.0.0.1:${port}/${client}` }),
    }));
    return { name, chainId, methods: ['eth', 'net', 'web3', 'debug_getRawBlock'], verify, upstreams };
  }

  /** Mines a block per block time until `close`. */
  mine(): void {
    this.#mining = clock.setInterval(() => {
      this.#setHead(this.#mineOn(this.#head, this.#head));
    }, this.options.blockMs);
  }

  /** Replaces the newest blocks. @param added number of blocks of the new branch */
  reorg(removed: number, added: number): void {
    const fork = ancestorAt(this.#head, this.#head.number - removed);
    if (fork === undefined) return;
    let head = fork;
    for (let count = 0; count < added; count++) head = this.#mineOn(head, this.#head);
    this.#setHead(head);
  }

  /** All nodes are wiped: the chain starts again from genesis with the same genesis. */
  restart(): void {
    const genesis = ancestorAt(this.#head, 0) as TrueBlock;
    this.#setHead(this.#mineOn(genesis, undefined));
  }

  /** The node mines blocks of its own, with true hashes, which no other node gets. @param number of the last one */
  forge(node: NetworkNode, parent: TrueBlock, number: number): void {
    let head = parent;
    while (head.number < number) head = this.#mineOn(head, this.#head);
    node.isStuck = true;
    node.view.head = head;
    // As if it did not respond: nothing is expected of it.
    node.history.add(clock.now(), this.#head, false);
    node.server.announce(node.view);
    this.events?.addChange(`node ${this.nodes.indexOf(node)}: forged block ${head.number} ${head.hash.slice(0, 10)}`);
  }

  async setFault(node: NetworkNode, fault: ConnectionFault | undefined): Promise<void> {
    const isLive = fault === undefined;
    if (!isLive) this.#setLive(node, false);
    await node.server.fail(fault);
    if (isLive) this.#setLive(node, true);
    this.events?.addChange(`node ${this.nodes.indexOf(node)}: ${JSON.stringify(fault ?? 'reachable')}`);
  }

  /** Moves a node towards the head, unless it is stuck or has the block. */
  update(node: NetworkNode): void {
    const { view, history, lagBlocks, isStuck, server } = node;
    const head = ancestorAt(this.#head, Math.max(this.#head.number - lagBlocks, 0)) as TrueBlock;
    if (isStuck || includes(view.head, head)) return;
    view.head = head;
    history.add(clock.now(), head, node.isLive);
    server.announce(view);
    this.events?.addChange(`node ${this.nodes.indexOf(node)}: block ${head.number} ${head.hash.slice(0, 10)}`);
  }

  async close(): Promise<void> {
    clock.clearInterval(this.#mining);
    await Promise.all([...new Set(this.nodes.map(({ server }) => server))].map((server) => server.close()));
  }

  #setLive(node: NetworkNode, isLive: boolean): void {
    // Behind one URL, all nodes are reached or none.
    for (const one of this.nodes.filter(({ server }) => server === node.server)) {
      one.isLive = isLive;
      one.history.add(clock.now(), one.view.head, isLive);
    }
  }

  #mineOn(parent: TrueBlock, head: TrueBlock | undefined): TrueBlock {
    const now = Math.floor(clock.unixMs() / 1_000);
    const timestamp = Math.min(now, Math.max(parent.timestamp + Math.ceil(this.options.blockMs / 1_000), now - 60));
    return mineBlock(parent, String(this.#salt++), timestamp, head);
  }

  /** One node has the block immediately, the others a little later. */
  #setHead(head: TrueBlock): void {
    this.#head = head;
    this.history.setHead(clock.now(), head);
    const first = this.#random.between(0, this.nodes.length - 1);
    for (const [index, node] of this.nodes.entries()) {
      if (index === first) this.update(node);
      else {
        clock.setTimeout(
          () => {
            this.update(node);
          },
          this.#random.between(0, this.options.blockMs * MAX_PROPAGATION),
        );
      }
    }
  }
}
