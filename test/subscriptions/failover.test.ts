import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../keys/eventually.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { chainNetwork, startChainNode, type ChainNode } from './chain-node.ts';
import { complaintsAbout, leftOf, leftOfHeads, truthOf } from './replay.ts';
import { addressOf, hashOf, ScriptedChain } from './scripted-chain.ts';
import { ethersWitness, rawWitness, viemWitness, type Witness } from './witness.ts';

/** How often the upstream that tells is lost; more with `FAILOVERS=30`. */
const FAILOVERS = Number(process.env['FAILOVERS'] ?? 5);
const LIMIT_MS = 15_000;
/** Blocks that are taken back while the upstream is lost, by round. */
const reorganisations: Readonly<Record<number, number>> = { 0: 2, 1: 4, 3: 2 };

const token = addressOf('token');
const log = { address: token, topics: [hashOf('Transfer'), hashOf('whom')] };
const noise = { address: addressOf('noise'), topics: [] };
const chain = new ScriptedChain(10);
let nodes: ChainNode[];
let gateway: TestGateway;
let witnesses: Witness[];

beforeAll(async () => {
  nodes = await Promise.all([0, 1, 2].map(() => startChainNode(7, chain)));
  gateway = await startGateway({ seven: chainNetwork(7, nodes) });
  witnesses = await Promise.all([
    rawWitness(gateway, 'seven', token),
    ethersWitness(gateway, 'seven', token),
    viemWitness(gateway, 'seven', token),
  ]);
});
afterAll(async () => {
  await Promise.all(witnesses.map((witness) => witness.close()));
  await gateway.stop();
  await Promise.all(nodes.map((node) => node.stop()));
});

/** Five blocks, of which every other has more than one log. */
function mineFive(): void {
  for (let block = 0; block < 5; block++) chain.mine(block % 2 === 0 ? [log] : [noise, log, log]);
}

/** All clients have seen the chain’s newest head and logs. */
async function caughtUp(): Promise<void> {
  const last = chain.head.header.hash;
  const isUpToDate = ({ heads, logs }: Witness): boolean =>
    logs.at(-1)?.blockHash === last && heads.at(-1)?.hash === last;
  await eventually(() => witnesses.every(isUpToDate), LIMIT_MS);
}

it(`${FAILOVERS} lost upstreams and three reorganisations leave no gap and tell nothing twice`, async () => {
  const from = chain.canonical.length;
  mineFive();
  await caughtUp();
  for (let round = 0; round < FAILOVERS; round++) {
    const told = nodes[round % nodes.length] as ChainNode;
    const [spare, other] = nodes.filter((node) => node !== told) as [ChainNode, ChainNode];
    await eventually(() => told.subscribers > 0, LIMIT_MS);
    await told.stop();
    // Now and then nobody is left for a while, so that nobody tells of what is mined, and taken back.
    const isAlone = round % 3 === 1;
    if (isAlone) await Promise.all([spare.stop(), other.stop()]);
    chain.takeBack(reorganisations[round] ?? 0);
    mineFive();
    if (isAlone) {
      await spare.listen();
      mineFive();
    }
    await caughtUp();
    await Promise.all(nodes.filter((node) => !node.isUp).map((node) => node.listen()));
  }
  const truth = truthOf(chain, from, token);
  expect(truth.logs.length).toBeGreaterThan(FAILOVERS * 5);
  for (const { name, heads, logs, errors } of witnesses) {
    expect([name, errors]).toEqual([name, []]);
    expect([name, complaintsAbout(heads, logs)]).toEqual([name, []]);
    expect([name, leftOf(logs)]).toEqual([name, truth.logs]);
    expect([name, leftOfHeads(heads)]).toEqual([name, truth.heads]);
    // Of the blocks that were taken back: the last of five has one log, as every other, the rest two.
    expect([name, logs.filter(({ removed }) => removed).length]).toEqual([name, 3 + 6 + 3]);
  }
}, 120_000);
