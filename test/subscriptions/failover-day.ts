import { expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { chainNetwork, startChainNode, type ChainNode } from './chain-node.ts';
import { findProblems, remainingLogs, remainingHeads, expectedEvents } from './replay.ts';
import { addressOf, hashOf, ScriptedChain } from './scripted-chain.ts';
import type { Witness } from './witness.ts';

/** Number of upstream failures; more for the table of docs/measured/websocket.md. At least three, because the first three each have a reorg. */
export const FAILOVERS = process.env['WRITE_DOCS'] === 'yes' ? 30 : 3;
const LIMIT_MS = 30_000;
/** The network, and the contract whose logs the witnesses watch. */
export const slug = 'seven';
export const token = addressOf('token');

/** A gateway with three nodes of one chain, which send new heads over WebSocket. */
export interface FailoverDay {
  readonly gateway: TestGateway;
  /**
   * Stops the subscribed node, several times, and mines five blocks with logs before another node takes over. There are
   * three reorgs: with all nodes, with no node, and during a takeover. Compares the events of each witness with the chain.
   */
  run(witnesses: readonly Witness[]): Promise<Counts>;
  close(): Promise<void>;
}

/** Number of events that each witness received. */
export interface Counts {
  readonly heads: number;
  readonly logs: number;
  /** Logs with `removed: true`. */
  readonly removed: number;
}

const log = { address: token, topics: [hashOf('Transfer'), hashOf('whom')] };
const noise = { address: addressOf('noise'), topics: [] };

export async function startFailoverDay(): Promise<FailoverDay> {
  const chain = new ScriptedChain(10);
  const nodes = await Promise.all([0, 1, 2].map(() => startChainNode(7, chain)));
  const gateway = await startGateway({ [slug]: chainNetwork(7, nodes) });

  /** Every second block has two matching logs, the others have one. */
  function mineFive(): void {
    for (let block = 0; block < 5; block++) chain.mine(block % 2 === 0 ? [log] : [noise, log, log]);
  }

  async function failOver(active: ChainNode, witnesses: readonly Witness[], round: number): Promise<void> {
    const [spare, other] = nodes.filter((node) => node !== active) as [ChainNode, ChainNode];
    if (round === 0) {
      chain.removeBlocks(2);
      mineFive();
      await waitForWitnesses(witnesses);
    }
    await eventually(() => active.subscribers > 0, LIMIT_MS);
    await active.stop();
    // In every third round no node is left for a while, so that blocks and reorgs are missed.
    const hasOutage = round % 3 === 1;
    if (hasOutage) await Promise.all([spare.stop(), other.stop()]);
    if (round === 1) chain.removeBlocks(4);
    if (round === 2) chain.removeBlocks(2);
    mineFive();
    if (hasOutage) {
      await spare.listen();
      mineFive();
    }
    await waitForWitnesses(witnesses);
    await Promise.all(nodes.filter((node) => !node.isListening).map((node) => node.listen()));
  }

  /** Waits until the gateway has both subscriptions of each witness: ethers and viem do not tell when theirs are made. */
  async function waitForSubscriptions(witnesses: readonly Witness[]): Promise<void> {
    await eventually(async () => {
      const { samples } = await readMetrics(gateway.address);
      const open = samples.filter(({ name }) => name === 'gatehouse_subscriptions_open');
      return open.reduce((sum, { value }) => sum + value, 0) === 2 * witnesses.length;
    }, LIMIT_MS);
  }

  /** Waits until all witnesses have the newest head and its logs. */
  async function waitForWitnesses(witnesses: readonly Witness[]): Promise<void> {
    const last = chain.head.header.hash;
    const isUpToDate = ({ heads, logs }: Witness): boolean =>
      logs.at(-1)?.blockHash === last && heads.at(-1)?.hash === last;
    await eventually(() => witnesses.every(isUpToDate), LIMIT_MS);
  }

  return {
    gateway,
    async run(witnesses) {
      const from = chain.canonical.length;
      await waitForSubscriptions(witnesses);
      mineFive();
      await waitForWitnesses(witnesses);
      for (let round = 0; round < FAILOVERS; round++) {
        await failOver(nodes[round % nodes.length] as ChainNode, witnesses, round);
      }
      const expected = expectedEvents(chain, from, token);
      expect(expected.logs.length).toBeGreaterThan(FAILOVERS * 5);
      const counts = witnesses.map(({ name, heads, logs, errors }) => {
        expect([name, errors]).toEqual([name, []]);
        expect([name, findProblems(heads, logs)]).toEqual([name, []]);
        expect([name, remainingLogs(logs)]).toEqual([name, expected.logs]);
        expect([name, remainingHeads(heads)]).toEqual([name, expected.heads]);
        const removed = logs.filter((seen) => seen.removed).length;
        // Logs in the removed blocks: 2, 4 and 2 blocks from the end, with 1, 2, 1, 2 logs from the last one back.
        expect([name, removed]).toEqual([name, 3 + 6 + 3]);
        return { heads: heads.length, logs: logs.length - removed, removed };
      });
      return counts[0] as Counts;
    },
    async close() {
      await gateway.stop();
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}
