import { afterEach, expect, it } from 'vitest';
import { Random } from '../../../bench/random.ts';
import { readOverHttp, readOverWebSocket } from '../../../bench/soak/chain-callers.ts';
import { NetworkClient } from '../../../bench/soak/client.ts';
import { ChainNetwork } from '../../../bench/soak/chain-network.ts';
import { ConsistencyChecker } from '../../../bench/soak/consistency-checker.ts';
import { Violations } from '../../../bench/soak/violations.ts';
import { eventually } from '../../support/eventually.ts';

/** Callers use the nodes directly, so that no gateway is tested here. */
const BLOCK_MS = 200;
const ROUND_MS = 2_000;

const open: ChainNetwork[] = [];
afterEach(async () => {
  for (const network of open.splice(0)) await network.close();
});

interface Found {
  readonly texts: readonly string[];
  readonly checked: number;
}

/** Calls nodes in rounds, until the condition is true: on a slow machine, a round has few calls. */
async function callNodes(
  nodes: number,
  isPool: boolean,
  during: (network: ChainNetwork) => void | Promise<void>,
  isEnough: (found: Found) => boolean,
): Promise<Found> {
  const options = { name: 'test', chainId: 1, nodes, isPool, hasFollowers: false, blockMs: BLOCK_MS };
  const network = await ChainNetwork.start(options, new Random(1));
  open.push(network);
  const texts: string[] = [];
  const violations = new Violations(100, performance.now(), (text) => texts.push(text));
  const checker = new ConsistencyChecker(network.history, violations);
  const port = network.nodes[0]?.server.port ?? 0;
  const connect = () => new NetworkClient(`http://127.0.0.1:${port}`, `ws://127.0.0.1:${port}`);
  const messages: string[] = [];
  const parts = { connect, checker, maxPauseMs: 120, onMessage: (text: string) => messages.push(text) };
  const found = (): Found => ({ texts, checked: checker.counts.checked });
  network.mine();
  const change = during(network);
  let seed = 2;
  do {
    const deadline = performance.now() + ROUND_MS;
    await Promise.all([
      readOverHttp({ ...parts, deadline, random: new Random(seed++) }),
      readOverHttp({ ...parts, deadline, random: new Random(seed++) }),
      readOverWebSocket({ ...parts, deadline, random: new Random(seed++) }),
    ]);
  } while (!isEnough(found()));
  await change;
  return found();
}

it('finds nothing if callers use one node directly, also when it reorgs', async () => {
  const reorg = async (network: ChainNetwork): Promise<void> => {
    const [node] = network.nodes;
    const start = node?.view.head.number ?? 0;
    await eventually(() => (node?.view.head.number ?? 0) >= start + 4);
    network.reorg(5, 4);
  };
  const { texts, checked } = await callNodes(1, false, reorg, (found) => found.checked > 20);
  expect(texts).toEqual([]);
  expect(checked).toBeGreaterThan(20);
});

it('finds older reads if callers use a URL behind which one node is stuck', async () => {
  const stop = ({ nodes }: ChainNetwork): void => {
    for (const node of nodes.slice(1)) node.isStuck = true;
  };
  const hasOlderRead = ({ texts }: Found): boolean => texts.some((text) => text.includes('older-read'));
  expect(hasOlderRead(await callNodes(2, true, stop, hasOlderRead))).toBe(true);
});
