import { expect, it, onTestFinished } from 'vitest';
import { shiftClock } from '../../routing/with-nodes.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway } from '../../support/gateway.ts';
import { chainNetwork, startChainNode, type ChainNode } from '../chain-node.ts';
import { addressOf, hashOf, ScriptedChain, type Block } from '../scripted-chain.ts';
import { openSubscriber } from '../subscriber.ts';

const CHAIN_ID = 7_777;
const [one, two] = ['one', 'two'].map((name) => ({ address: addressOf(name), topics: [hashOf(name)] })) as [
  { address: string; topics: string[] },
  { address: string; topics: string[] },
];

type Logs = Block['logs'];

/** @param alter by node: the logs that it returns, of those that a block has */
async function start(...alter: ((logs: Logs) => Logs)[]) {
  const chain = new ScriptedChain();
  const logsOf = chain.responses()['eth_getLogs'] as (params: unknown) => Logs;
  const startNode = async (change: (logs: Logs) => Logs): Promise<ChainNode> => {
    const node = await startChainNode(CHAIN_ID, chain);
    node.response('eth_getLogs', (params) => change(logsOf(params)));
    return node;
  };
  const nodes = await Promise.all(alter.map(startNode));
  const gateway = await startGateway({ test: chainNetwork(CHAIN_ID, nodes) });
  const subscriber = await openSubscriber(gateway, 'test');
  onTestFinished(async () => {
    subscriber.caller.socket.terminate();
    await gateway.stop();
    await Promise.all(nodes.map((node) => node.stop()));
  });
  const notifications = await subscriber.subscribe('logs', {});
  const bloomCheck = async (): Promise<unknown> => {
    const response = await fetch(`${gateway.address}/test`, { headers: { accept: 'application/json' } });
    return ((await response.json()) as { networks: { bloomCheck?: string }[] }).networks[0]?.bloomCheck;
  };
  const requests = (): number => nodes.reduce((sum, node) => sum + node.callsOf('eth_getLogs').length, 0);
  return { chain, notifications, bloomCheck, requests };
}

const whole = (logs: Logs): Logs => logs;
const withoutLast = (logs: Logs): Logs => logs.slice(0, -1);

it('logs that one upstream leaves out are those of another one, which the header’s bloom filter has', async () => {
  const { chain, notifications, bloomCheck } = await start(withoutLast, whole);
  const blocks = [chain.mine([one, two]), chain.mine([two, one]), chain.mine([one])];
  await eventually(() => notifications.length >= 5);
  expect(notifications).toEqual(blocks.flatMap(({ logs }) => logs));
  await eventually(async () => (await bloomCheck()) === undefined);
});

it('two upstreams that agree with each other, and not with the bloom filter of three blocks, switch the check off', async () => {
  const { chain, notifications, bloomCheck, requests } = await start(withoutLast, withoutLast);
  for (let blocks = 1; blocks <= 3; blocks++) {
    const { logs } = chain.mine([one, two]);
    await eventually(() => notifications.length === blocks);
    expect(notifications.at(-1)).toEqual(logs[0]);
    expect(requests()).toBe(2 * blocks);
  }
  await eventually(async () => (await bloomCheck()) === 'off');
  const before = requests();
  chain.mine([two, one]);
  await eventually(() => notifications.length === 4);
  expect(requests()).toBe(before + 1);
});

it('one upstream that returns no logs of a block delays later blocks for seconds, and the check stays on', async () => {
  let returned = (_logs: Logs): Logs => [];
  const { chain, notifications, bloomCheck } = await start((logs) => returned(logs));
  chain.mine([one]);
  returned = (logs) => (logs.length === 2 ? logs : []);
  const { logs } = chain.mine([two, one]);
  await eventually(() => notifications.length === 2);
  expect(notifications).toEqual(logs);
  expect(await bloomCheck()).toBeUndefined();
  // A list without logs is still requested again.
  let failures = 1;
  returned = (all) => (failures-- > 0 ? [] : all);
  const last = chain.mine([one]);
  await eventually(() => notifications.length === 3);
  expect(notifications.at(-1)).toEqual(last.logs[0]);
});

it('logs beside those of the bloom filter are delivered at once if there is no other upstream', async () => {
  const more = { logIndex: '0x7', address: addressOf('state sync'), topics: [hashOf('sync')] };
  const { chain, notifications, bloomCheck } = await start((logs) => logs.flatMap((log) => [log, { ...log, ...more }]));
  chain.mine([one]);
  await eventually(() => notifications.length === 2);
  expect(await bloomCheck()).toBe('off');
  const clock = shiftClock({ isRunning: true });
  clock.forward(601_000);
  await eventually(async () => (await bloomCheck()) === undefined);
});
