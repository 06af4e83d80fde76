import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { chainNetwork, startChainNode, type ChainNode } from './chain-node.ts';
import { addressOf, hashOf, ScriptedChain } from './scripted-chain.ts';
import { openSubscriber, type Subscriber } from './subscriber.ts';

const chain = new ScriptedChain();
const token = addressOf('token');
const transfer = hashOf('Transfer');
let node: ChainNode;
let gateway: TestGateway;
let subscriber: Subscriber;

beforeAll(async () => {
  node = await startChainNode(7, chain);
  gateway = await startGateway({ seven: chainNetwork(7, [node]) });
  subscriber = await openSubscriber(gateway, 'seven');
});
afterAll(async () => {
  subscriber.caller.socket.terminate();
  await gateway.stop();
  await node.stop();
});

const numbers = (headers: readonly unknown[]): unknown[] =>
  headers.map((header) => (header as { number: string }).number);

describe('newHeads', () => {
  it('delivers each header once, in order, without members of the block body', async () => {
    const headers = await subscriber.subscribe('newHeads');
    const blocks = [chain.mine(), chain.mine(), chain.mine()];
    await eventually(() => headers.length >= 3);
    expect(headers).toEqual(blocks.map(({ header }) => header));
  });

  it('delivers the headers of the new branch after a reorg', async () => {
    const headers = await subscriber.subscribe('newHeads');
    chain.removeBlocks(2);
    const blocks = [chain.mine(), chain.mine(), chain.mine()];
    await eventually(() => headers.length >= 3);
    expect(numbers(headers)).toEqual(blocks.map(({ header }) => header.number));
  });
});

describe('logs', () => {
  it('delivers matching logs, and repeats those of removed blocks newest first with removed: true', async () => {
    const all = await subscriber.subscribe('logs', {});
    const ours = await subscriber.subscribe('logs', { address: token, topics: [transfer] });
    const none = await subscriber.subscribe('logs', { address: addressOf('unused') });
    // As in geth, the hash has no effect.
    const withHash = await subscriber.subscribe('logs', { blockHash: hashOf('x'), address: token, topics: [transfer] });
    const other = { address: addressOf('other'), topics: [transfer] };
    const one = { address: token, topics: [transfer, hashOf('a')] };
    const two = { address: token, topics: [transfer, hashOf('b')] };
    const first = chain.mine([one, other]);
    const second = chain.mine([two]);
    await eventually(() => all.length >= 3);
    expect(all).toEqual([...first.logs, ...second.logs]);
    expect(ours).toEqual([first.logs[0], second.logs[0]]);
    chain.removeBlocks(2);
    const third = chain.mine([two]);
    chain.mine();
    chain.mine();
    await eventually(() => all.length >= 7);
    const removed = (log: unknown): unknown => ({ ...(log as object), removed: true });
    expect(all.slice(3)).toEqual([
      ...[removed(second.logs[0]), removed(first.logs[1]), removed(first.logs[0])],
      ...third.logs,
    ]);
    expect(ours.slice(2)).toEqual([removed(second.logs[0]), removed(first.logs[0]), third.logs[0]]);
    expect(none).toEqual([]);
    expect(withHash).toEqual(ours);
  });

  it('are repeated with removed: true only to subscribers that got them', async () => {
    const early = await subscriber.subscribe('logs', { address: token });
    const [log] = chain.mine([{ address: token, topics: [transfer] }]).logs;
    await eventually(() => early.length === 1);
    const late = await subscriber.subscribe('logs', { address: token });
    chain.removeBlocks(1);
    const [replacement] = [chain.mine([{ address: token, topics: [transfer] }]), chain.mine()];
    await eventually(() => late.length > 0 && early.length === 3);
    expect(early).toEqual([log, { ...log, removed: true }, ...replacement.logs]);
    expect(late).toEqual(replacement.logs);
  });
});
