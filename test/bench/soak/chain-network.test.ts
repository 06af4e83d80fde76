import { afterEach, expect, it } from 'vitest';
import { Random } from '../../../bench/random.ts';
import { readOverHttp, readOverWebSocket } from '../../../bench/soak/chain-callers.ts';
import { ChainNetwork } from '../../../bench/soak/chain-network.ts';
import { ConsistencyChecker } from '../../../bench/soak/consistency-checker.ts';
import { Violations } from '../../../bench/soak/violations.ts';
import { eventually } from '../../support/eventually.ts';

/** Callers use the nodes directly, so that no gateway is tested here. */
const BLOCK_MS = 200;
const CALLS_MS = 2_000;

const open: ChainNetwork[] = [];
afterEach(async () => {
  for (const network of open.splice(0)) await network.close();
});

async function callNodes(
  nodes: number,
  isPool: boolean,
  during?: (network: ChainNetwork) => void | Promise<void>,
): Promise<{ texts: string[]; checked: number }> {
  const options = { name: 'test', chainId: 1, nodes, isPool, hasFollowers: false, blockMs: BLOCK_MS };
  const network = await ChainNetwork.start(options, new Random(1));
  open.push(network);
  const texts: string[] = [];
  const violations = new Violations(100, performance.now(), (text) => texts.push(text));
  const checker = new ConsistencyChecker(network.history, violations);
  const port = network.nodes[0]?.server.port ?? 0;
  const urls = { url: `http://127.0.0.1:${port}`, webSocketUrl: `ws://127.0.0.1:${port}` };
  const messages: string[] = [];
  const parts = { ...urls, checker, onMessage: (text: string) => messages.push(text) };
  const deadline = performance.now() + CALLS_MS;
  network.mine();
  await Promise.all([
    during?.(network),
    readOverHttp({ ...parts, deadline, random: new Random(2) }),
    readOverHttp({ ...parts, deadline, random: new Random(3) }),
    readOverWebSocket({ ...parts, deadline, random: new Random(4) }),
  ]);
  return { texts, checked: checker.counts.checked };
}

it('finds nothing if callers use one node directly, also when it reorgs', async () => {
  const { texts, checked } = await callNodes(1, false, async (network) => {
    const [node] = network.nodes;
    const start = node?.view.head.number ?? 0;
    await eventually(() => (node?.view.head.number ?? 0) >= start + 4);
    network.reorg(5, 4);
  });
  expect(texts).toEqual([]);
  expect(checked).toBeGreaterThan(20);
});

it('finds older reads if callers use a URL behind which one node is stuck', async () => {
  const { texts } = await callNodes(2, true, ({ nodes }) => {
    for (const node of nodes.slice(1)) node.isStuck = true;
  });
  expect(texts.filter((text) => text.includes('older-read')).length).toBeGreaterThan(0);
});
