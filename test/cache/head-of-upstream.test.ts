import { expect, it, onTestFinished } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { followCache, latest, receiptIn } from './follow-cache.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { asUsual, status, type Behaviour } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { network, startGateway } from '../support/gateway.ts';
import { ScriptedChain, type ScriptedBlock } from '../chain/scripted-chain.ts';
import { CHAIN_ID, scriptedNode } from '../chain/with-heads.ts';

const params = [`0x${'12'.repeat(20)}`, 'latest'];

/** An upstream failure that does not open the circuit. */
const lacksBlock: Behaviour = ({ id, response }) => {
  const error = { code: -32000, message: 'header not found' };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
};

it.each([
  ['is', 0],
  ['is not', 1],
])('a state read at the head %s cached if the upstream is %i blocks behind the network', async (_, behind) => {
  const chain = new ScriptedChain({ from: 100 });
  const [best, other] = await Promise.all([scriptedNode(chain), scriptedNode(chain.copy())]);
  for (const node of [best, other]) node.response('eth_getBalance', () => node.chain.head.number);
  best.chain.mine();
  if (behind === 0) other.chain = best.chain.copy();
  const gateway = await startGateway({
    main: network(CHAIN_ID, [best.url, other.url], { failsafe: { hedgeAfterMs: 'off' } }),
  });
  onTestFinished(() => gateway.stop());
  // State at the newest block counts as served: the upstream that is behind would get no call.
  await gateway.call('main', 'eth_getBalance', [params[0], behind === 0 ? 'latest' : '0x1']);
  await eventually(async () => {
    const { value } = await readMetrics(gateway.address);
    const at = [0, 1].map((index) => value('gatehouse_upstream_head_block', { upstream: `node-${index}` }));
    return value('gatehouse_network_head_block') === 101 && at[0] === 101 && at[1] === 101 - behind;
  });
  // The second upstream has the response to this call.
  best.next(lacksBlock, 'eth_getBalance');
  const slot = [params[0], 'latest'];
  expect((await gateway.call('main', 'eth_getBalance', slot)).result).toBe(`0x${(101 - behind).toString(16)}`);
  expect(other.callsOf('eth_getBalance')).toHaveLength(1);
  // An older one would be a read before block 101, of which the gateway knows.
  expect((await gateway.call('main', 'eth_getBalance', slot)).result).toBe('0x65');
  expect(best.callsOf('eth_getBalance').length).toBe(behind === 0 ? 2 : 3);
});

it('a state read is not cached after a failure until the head is polled, because the node may have started anew', async () => {
  const chain = new ScriptedChain({ from: 100 });
  const node = await scriptedNode(chain);
  node.response('eth_getBalance', '0x1');
  const gateway = await startGateway({ main: network(CHAIN_ID, [node.url]) });
  onTestFinished(() => gateway.stop());
  const read = async (account: string): Promise<number> => {
    const before = node.callsOf('eth_getBalance').length;
    // A result at the head is cached at its second request.
    for (let call = 0; call < 3; call++)
      await gateway.call('main', 'eth_getBalance', [`0x${account.repeat(20)}`, 'latest']);
    return node.callsOf('eth_getBalance').length - before;
  };
  await eventually(async () => (await read('11')) === 0);
  expect(await read('12')).toBe(2);
  // The poll that follows the failure gets its response after the reads.
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  node.always(async (exchange) => {
    await released;
    asUsual(exchange);
  }, 'eth_getBlockByNumber');
  node.next(status(502), 'eth_gasPrice');
  expect((await gateway.call('main', 'eth_gasPrice', [])).error).toBeDefined();
  const polls = node.polls();
  expect(await read('13')).toBe(3);
  release();
  await eventually(() => node.polls() > polls);
});

it('nothing of a block that is not final is found once a block of another branch was served as the newest, until that is followed', async () => {
  const { chain, store, poller, upstream, waitForHead } = await followCache();
  const [before, replaced] = [chain.head, chain.mine(2)];
  await waitForHead(replaced);
  const storeReceipt = (block: ScriptedBlock) =>
    store('eth_getTransactionReceipt', [`0x${'ab'.repeat(32)}`], receiptIn(block));
  const serve = ({ number, hash }: ScriptedBlock): void => {
    poller.served(upstream, { number: BigInt(number), hash }, clock.now(), {
      by: 'response',
      sentAt: clock.now(),
      isLatest: true,
    });
  };
  const other = chain.copy();
  other.reorganise(1, 1);
  const receipt = storeReceipt(before);
  serve(replaced);
  expect(receipt.find()).toBeDefined();
  serve(other.head);
  expect(receipt.find()).toBeUndefined();
  expect(storeReceipt(before).first).toBeUndefined();
  // Another caller may have the newer branch nevertheless.
  serve(replaced);
  expect([receipt.find(), storeReceipt(before).first]).toEqual([undefined, undefined]);
  // A poll shows that the upstream has the followed chain: the other block was one that a reorg removed.
  await eventually(() => !(poller.view.branch === 'uncertain'));
  expect(poller.view.number).toBe(BigInt(replaced.number));
  expect(storeReceipt(before).first).toBeDefined();
  serve(other.head);
  await waitForHead(chain.mine());
  expect(storeReceipt(before).first).toBeDefined();
});

it('a state read at the head is not found after the newest block of another branch was served, also not for latest', async () => {
  const { chain, store, poller, upstream, waitForHead } = await followCache();
  await waitForHead(chain.mine(3));
  const serve = ({ number, hash }: ScriptedBlock): void => {
    poller.served(upstream, { number: BigInt(number), hash }, clock.now());
  };
  const [other, older] = [chain.copy(), chain.copy()];
  other.reorganise(1, 1);
  older.reorganise(2, 1);
  serve(chain.head);
  const balance = store('eth_getBalance', latest, '0x5');
  // An older block of another branch does not show what a read at the newest is of.
  serve(older.head);
  expect(poller.view.branch === 'uncertain').toBe(false);
  serve(other.head);
  expect([poller.view.branch === 'uncertain', balance.find()]).toEqual([true, undefined]);
  await waitForHead(chain.mine());
  expect(poller.view.branch === 'uncertain').toBe(false);
});

it('a state read at the head is dropped when a caller is served a block of another branch', async () => {
  const { chain, store, waitForHead } = await followCache();
  await waitForHead(chain.mine(3));
  const balance = store('eth_getBalance', latest, '0x5');
  expect(balance.first).toBe('"0x5"');
  const other = chain.copy();
  other.reorganise(1, 1);
  store('eth_getTransactionReceipt', [`0x${'ab'.repeat(32)}`], receiptIn(other.head));
  expect(balance.find()).toBeUndefined();
});
