import { createPublicClient, http } from 'viem';
import { createBundlerClient } from 'viem/account-abstraction';
import { expect, it, onTestFinished } from 'vitest';
import { cutInBody, cutInHeaders, hang, status, type Behaviour } from '../support/behaviours.ts';
import { rpcError, startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

const entryPoint = '0x0000000071727de22e5e9d8baf0edac6f37da032';
const hash = `0x${'93'.repeat(32)}` as const;
const operation = { sender: `0x${'3c'.repeat(20)}`, nonce: '0x1', callData: '0xb61d27f6', signature: '0x01' };
const params = [operation, entryPoint];
const SEND = 'eth_sendUserOperation';
const RECEIPT = 'eth_getUserOperationReceipt';

interface Bundlers {
  readonly gateway: TestGateway;
  readonly node: FakeNode;
  readonly first: FakeNode;
  readonly second: FakeNode;
}

/** A network with a node and two bundlers, which get user operations only. @param query of the URL of the first */
async function start(more: object = {}, query = ''): Promise<Bundlers> {
  const responses = { [SEND]: hash, [RECEIPT]: { userOpHash: hash, success: true, logs: [], receipt: {} } };
  const [node, first, second] = [
    await startFakeNode({ chainId: 5 }),
    await startFakeNode({ chainId: 5, responses }),
    await startFakeNode({ chainId: 5, responses }),
  ];
  const bundler = (name: string, url: string): object => ({
    name,
    url,
    methods: [SEND, RECEIPT],
    batch: false,
  });
  const file = network(5, [], {
    upstreams: [
      { name: 'node', url: node.url, batch: false },
      bundler('first', `${first.url}${query}`),
      bundler('second', second.url),
    ],
    route: { [SEND]: ['first', 'second'], [RECEIPT]: ['first', 'second'] },
    failsafe: { timeoutMs: 300 },
    ...more,
  });
  const gateway = await startGateway({ five: file });
  onTestFinished(async () => {
    await gateway.stop();
    for (const each of [node, first, second]) await each.close();
  });
  return { gateway, node, first, second };
}

const countsOf = ({ node, first, second }: Bundlers, method = SEND): number[] =>
  [node, first, second].map((each) => each.callsOf(method).length);

it('a user operation goes to a bundler, and lookups of it to the bundler that took it', async () => {
  const one = await start();
  one.first.always(status(429), SEND);
  expect(await one.gateway.call('five', SEND, params)).toMatchObject({ result: hash });
  expect(await one.gateway.call('five', RECEIPT, [hash])).toMatchObject({ result: { success: true } });
  expect([countsOf(one), countsOf(one, RECEIPT)]).toEqual([
    [0, 1, 1],
    [0, 0, 1],
  ]);
});

it.each<[string, Behaviour]>([
  ['does not respond', hang],
  ['ends the connection in the headers', cutInHeaders],
  ['ends the connection in the body', cutInBody],
  ['returns 502', status(502)],
  ['returns no JSON', status(200, 'no JSON')],
])('after an unknown outcome, the bundler %s, it is not sent again', async (_, behaviour) => {
  const one = await start();
  one.first.always(behaviour, SEND);
  expect(await one.gateway.call('five', SEND, params)).toHaveProperty('error');
  expect(countsOf(one)).toEqual([0, 1, 0]);
});

it('an error of the bundler about it is the response, and it is not sent again', async () => {
  const one = await start();
  one.first.response(SEND, rpcError(-32500, 'AA21 didn’t pay prefund'));
  expect((await one.gateway.call('five', SEND, params)).error).toMatchObject({ code: -32500 });
  expect(countsOf(one)).toEqual([0, 1, 0]);
});

it('the data of an error of the bundler is kept, without addresses behind it', async () => {
  const one = await start();
  const data = { paymaster: entryPoint, minimumStake: '0x1', reason: 'http://10.0.0.7:8545/secret failed' };
  one.first.response(SEND, rpcError(-32505, 'stake too low', data));
  const { error } = await one.gateway.call('five', SEND, params);
  expect(error).toEqual({ code: -32505, message: 'stake too low', data: { ...data, reason: '<url> failed' } });
  // The spec's form holds for other methods.
  one.node.response('eth_getBalance', rpcError(-32000, 'no balance', data));
  const other = await one.gateway.call('five', 'eth_getBalance', [operation.sender, 'latest']);
  expect(other.error).not.toHaveProperty('data');
});

it('the data of an error of the bundler does not have the credential of the bundler, which it may echo', async () => {
  const one = await start({}, '/?apikey=pim_ABCDEFGH1234');
  const data = { path: '/rpc?apikey=pim_ABCDEFGH1234', reason: 'invalid key pim_ABCDEFGH1234', code: 7 };
  one.first.response(SEND, rpcError(-32505, 'stake too low', data));
  const { error } = await one.gateway.call('five', SEND, params);
  expect(error).toMatchObject({ data: { path: '<upstream>', reason: 'invalid key <upstream>', code: 7 } });
});

it.each<[string, (first: FakeNode) => Promise<void> | void]>([
  ['refuses the connection', (first) => first.refuse()],
  [
    'is over its rate',
    (first) => {
      first.always(status(429), SEND);
    },
  ],
  [
    'does not have the method',
    (first) => {
      first.response(SEND, rpcError(-32601, 'Method not found'));
    },
  ],
])('the next bundler gets it if the first %s', async (_, fail) => {
  const one = await start();
  // The chain id is read before the first use.
  await one.gateway.call('five', RECEIPT, [hash]);
  await fail(one.first);
  expect(await one.gateway.call('five', SEND, params)).toMatchObject({ result: hash });
  expect(one.second.callsOf(SEND)).toHaveLength(1);
});

it('transactions: all sends a user operation to one bundler', async () => {
  const one = await start({ transactions: 'all' });
  expect(await one.gateway.call('five', SEND, params)).toMatchObject({ result: hash });
  expect(countsOf(one)).toEqual([0, 1, 0]);
});

it('a null is confirmed by the next bundler as that of other lookups', async () => {
  const one = await start({ verify: { nulls: 'always' } });
  one.first.response(RECEIPT, null);
  expect(await one.gateway.call('five', RECEIPT, [hash])).toMatchObject({ result: { success: true } });
  one.second.response(RECEIPT, null);
  expect(await one.gateway.call('five', RECEIPT, [hash])).toMatchObject({ result: null });
});

it('viem reads the receipt of a user operation', async () => {
  const { gateway } = await start();
  const client = createPublicClient({ transport: http(gateway.url('five')) });
  const bundler = createBundlerClient({ client, transport: http(gateway.url('five')) });
  expect(await bundler.getUserOperationReceipt({ hash })).toMatchObject({ userOpHash: hash, success: true });
});
