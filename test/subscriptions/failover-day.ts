import { expect } from 'vitest';
import { eventually } from '../auth/eventually.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { chainNetwork, startChainNode, type ChainNode } from './chain-node.ts';
import { complaintsAbout, leftOf, leftOfHeads, truthOf } from './replay.ts';
import { addressOf, hashOf, ScriptedChain } from './scripted-chain.ts';
import type { Witness } from './witness.ts';

/** How often the upstream that tells is lost; more with `FAILOVERS=30`. No less than three: a reorganisation each. */
export const FAILOVERS = Math.max(3, Number(process.env['FAILOVERS'] ?? 3));
const LIMIT_MS = 30_000;
/** The network that witnesses watch, and whose logs. */
export const slug = 'seven';
export const token = addressOf('token');

/** A gateway before three nodes of one chain, all of which tell new heads over WebSocket. */
export interface FailoverDay {
  readonly gateway: TestGateway;
  /**
   * Loses nodes one after the other, each time that it is listened to, and mines five blocks with logs before the next
   * one may have taken over. Blocks are taken back three times: while all is well, while nobody is left, and while
   * another is to take over. Holds what each witness saw against the chain.
   */
  live(witnesses: readonly Witness[]): Promise<Counts>;
  close(): Promise<void>;
}

/** What each witness saw. */
export interface Counts {
  readonly heads: number;
  readonly logs: number;
  /** Logs of blocks that were taken back, told once more. */
  readonly removed: number;
}

const log = { address: token, topics: [hashOf('Transfer'), hashOf('whom')] };
const noise = { address: addressOf('noise'), topics: [] };

export async function startFailoverDay(): Promise<FailoverDay> {
  const chain = new ScriptedChain(10);
  const nodes = await Promise.all([0, 1, 2].map(() => startChainNode(7, chain)));
  const gateway = await startGateway({ [slug]: chainNetwork(7, nodes) });

  /** Every other has more than one log. */
  function mineFive(): void {
    for (let block = 0; block < 5; block++) chain.mine(block % 2 === 0 ? [log] : [noise, log, log]);
  }

  async function lose(told: ChainNode, witnesses: readonly Witness[], round: number): Promise<void> {
    const [spare, other] = nodes.filter((node) => node !== told) as [ChainNode, ChainNode];
    if (round === 0) {
      chain.takeBack(2);
      mineFive();
      await caughtUp(witnesses);
    }
    await eventually(() => told.subscribers > 0, LIMIT_MS);
    await told.stop();
    // Now and then nobody is left for a while, so that nobody tells of what is mined, and taken back.
    const isAlone = round % 3 === 1;
    if (isAlone) await Promise.all([spare.stop(), other.stop()]);
    if (round === 1) chain.takeBack(4);
    if (round === 2) chain.takeBack(2);
    mineFive();
    if (isAlone) {
      await spare.listen();
      mineFive();
    }
    await caughtUp(witnesses);
    await Promise.all(nodes.filter((node) => !node.isClosed).map((node) => node.listen()));
  }

  /** All have seen the chain’s newest head and logs. */
  async function caughtUp(witnesses: readonly Witness[]): Promise<void> {
    const last = chain.head.header.hash;
    const isUpToDate = ({ heads, logs }: Witness): boolean =>
      logs.at(-1)?.blockHash === last && heads.at(-1)?.hash === last;
    await eventually(() => witnesses.every(isUpToDate), LIMIT_MS);
  }

  return {
    gateway,
    async live(witnesses) {
      const from = chain.canonical.length;
      mineFive();
      await caughtUp(witnesses);
      for (let round = 0; round < FAILOVERS; round++) {
        await lose(nodes[round % nodes.length] as ChainNode, witnesses, round);
      }
      const truth = truthOf(chain, from, token);
      expect(truth.logs.length).toBeGreaterThan(FAILOVERS * 5);
      const counts = witnesses.map(({ name, heads, logs, errors }) => {
        expect([name, errors]).toEqual([name, []]);
        expect([name, complaintsAbout(heads, logs)]).toEqual([name, []]);
        expect([name, leftOf(logs)]).toEqual([name, truth.logs]);
        expect([name, leftOfHeads(heads)]).toEqual([name, truth.heads]);
        const removed = logs.filter((told) => told.removed).length;
        // Of the blocks that were taken back: the last of five has one log, as every other, the rest two.
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
