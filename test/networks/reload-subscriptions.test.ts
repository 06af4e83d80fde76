import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startGateway } from '../support/gateway.ts';
import { chainNetwork, startChainNode, type ChainNode } from '../subscriptions/chain-node.ts';
import { findProblems, remainingLogs, remainingHeads, expectedEvents } from '../subscriptions/replay.ts';
import { addressOf, hashOf, ScriptedChain } from '../subscriptions/scripted-chain.ts';
import { rawWitness } from '../subscriptions/witness.ts';

const token = addressOf('token');
const log = { address: token, topics: [hashOf('Transfer')] };

it('subscriptions survive a change of the network’s upstreams without gap or duplicate', async () => {
  const chain = new ScriptedChain(10);
  const nodes = (await Promise.all([0, 1].map(() => startChainNode(7, chain)))) as [ChainNode, ChainNode];
  // Each node has its own name, so that the change replaces upstreams instead of their URL.
  const file = (...of: readonly ChainNode[]): object => ({
    ...chainNetwork(7, []),
    upstreams: of.map(({ url }) => ({
      name: `node-${nodes.findIndex((node) => node.url === url)}`,
      websocketUrl: url,
    })),
  });
  const gateway = await startGateway({ seven: file(nodes[0]) });
  const witness = await rawWitness(gateway, 'seven', token);
  onTestFinished(async () => {
    await witness.close();
    await gateway.stop();
    await Promise.all(nodes.map((node) => node.stop()));
  });
  const from = chain.canonical.length;
  const isUpToDate = (): boolean =>
    witness.heads.at(-1)?.hash === chain.head.header.hash && witness.logs.at(-1)?.blockHash === chain.head.header.hash;
  const mine = (): void => {
    for (const logs of [[log], [log, log], [log]]) chain.mine(logs);
  };
  mine();
  await eventually(isUpToDate);
  // To the other node, to both, and back, with new blocks and a reorg during the changes.
  for (const [round, upstreams] of [[nodes[1]], nodes, [nodes[0]]].entries()) {
    mine();
    if (round === 1) await eventually(isUpToDate);
    gateway.save({ seven: file(...upstreams) });
    await gateway.gateway.reload();
    if (round === 1) chain.removeBlocks(2);
    mine();
    await eventually(isUpToDate);
  }
  const expected = expectedEvents(chain, from, token);
  const { heads, logs } = witness;
  expect(findProblems(heads, logs)).toEqual([]);
  expect(remainingHeads(heads)).toEqual(expected.heads);
  expect(remainingLogs(logs)).toEqual(expected.logs);
  expect(logs.some(({ removed }) => removed)).toBe(true);
});
