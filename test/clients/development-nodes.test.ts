import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callLocalNode } from '../../local-chain/local-node.ts';
import { eventually } from '../support/eventually.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { startHardhatNode, type HardhatNode } from './hardhat-node.ts';
import { makeToolFolder, type ToolFolder } from './tool-folder.ts';

const CHAIN_ID = 31337;
const other = `0x${'ab'.repeat(20)}`;
const typedData = {
  types: { EIP712Domain: [{ name: 'name', type: 'string' }], Mail: [{ name: 'text', type: 'string' }] },
  primaryType: 'Mail',
  domain: { name: 'test' },
  message: { text: 'hello' },
};

type Call = readonly [method: string, ...params: unknown[]];

interface DevelopmentNode {
  readonly clientVersion: RegExp;
  readonly start: () => Promise<HardhatNode>;
  /** Calls that sign with an account of the node. */
  readonly signatures: (account: string) => readonly Call[];
  /** Calls that set the balance of `other` to 7. */
  readonly setBalance: Call;
  /** Other calls that set state, and what each returns. */
  readonly calls: readonly (readonly [result: unknown, ...call: Call])[];
  /** Methods that other development nodes have. */
  readonly missing: readonly string[];
}

let tools: ToolFolder;
beforeAll(() => {
  tools = makeToolFolder();
});
afterAll(() => {
  tools.remove();
});

const nodes: Readonly<Record<string, DevelopmentNode>> = {
  'Hardhat 3': {
    clientVersion: /^HardhatNetwork\/3/,
    start: () => startHardhatNode(tools, CHAIN_ID),
    signatures: (account) => [
      ['eth_sign', account, '0x12'],
      ['personal_sign', '0x12', account],
      ['eth_signTypedData_v4', account, typedData],
    ],
    setBalance: ['hardhat_setBalance', other, '0x7'],
    calls: [
      [true, 'hardhat_setCode', other, '0x5f'],
      [true, 'hardhat_setNonce', other, '0x3'],
      [true, 'hardhat_setStorageAt', other, '0x0', `0x${'7'.padStart(64, '0')}`],
      [true, 'hardhat_setNextBlockBaseFeePerGas', '0x7'],
      [true, 'hardhat_setPrevRandao', `0x${'1'.repeat(64)}`],
      [true, 'hardhat_setCoinbase', other],
      [true, 'hardhat_setLoggingEnabled', false],
      [true, 'hardhat_impersonateAccount', other],
      [true, 'hardhat_stopImpersonatingAccount', other],
      [true, 'hardhat_mine', '0x3'],
      [true, 'hardhat_getAutomine'],
      [true, 'evm_setAutomine', true],
      [true, 'evm_setIntervalMining', 0],
      [true, 'evm_setBlockGasLimit', '0x1c9c380'],
      [expect.any(String), 'evm_increaseTime', 60],
      [expect.anything(), 'evm_mine'],
      [expect.objectContaining({ chainId: CHAIN_ID }), 'hardhat_metadata'],
    ],
    missing: ['anvil_nodeInfo', 'evm_addAccount'],
  },
};

describe.each(Object.entries(nodes))('%s', (_, { clientVersion, start, signatures, setBalance, calls, missing }) => {
  let node: HardhatNode;
  let gateway: TestGateway;
  let account: string;

  beforeAll(async () => {
    node = await start();
    gateway = await startGateway({
      dev: network(CHAIN_ID, [node.url], { development: true }),
      plain: network(CHAIN_ID, [node.url]),
    });
    [account = ''] = (await callLocalNode(node.url, 'eth_accounts')) as string[];
  }, 200_000);
  afterAll(async () => {
    await gateway.stop();
    await node.stop();
  });

  async function call([method, ...params]: Call): Promise<unknown> {
    const { result, error } = await gateway.call('dev', method, params);
    if (error !== undefined) throw new Error(`${method}: ${error.code} ${error.message}`);
    return result;
  }

  it('with `development: true`, its accounts and its name are served', async () => {
    expect(await call(['eth_accounts'])).toEqual(await callLocalNode(node.url, 'eth_accounts'));
    expect(await call(['web3_clientVersion'])).toMatch(clientVersion);
  });

  it('with `development: true`, its accounts sign and send', async () => {
    for (const one of signatures(account)) expect(await call(one), one[0]).toMatch(/^0x[0-9a-f]{130,}$/);
    const hash = await call(['eth_sendTransaction', { from: account, to: other, value: '0x1', gas: '0x5208' }]);
    await eventually(async () => (await call(['eth_getTransactionReceipt', hash])) !== null);
    expect(await call(['eth_getTransactionReceipt', hash])).toMatchObject({ status: '0x1', from: account, to: other });
  });

  it('with `development: true`, its methods set state, which is read at once and can be restored', async () => {
    const snapshot = await call(['evm_snapshot']);
    expect(await call(setBalance)).toBe(true);
    expect(await call(['eth_getBalance', other, 'latest'])).toBe('0x7');
    for (const [result, ...one] of calls) expect([one[0], await call(one)]).toEqual([one[0], result]);
    expect(await call(['eth_getCode', other, 'latest'])).toBe('0x5f');
    expect(await call(['eth_getTransactionCount', other, 'latest'])).toBe('0x3');
    expect(await call(['eth_getStorageAt', other, '0x0', 'latest'])).toBe(`0x${'7'.padStart(64, '0')}`);
    expect(await call(['evm_revert', snapshot])).toBe(true);
    expect(await call(['eth_getBalance', other, 'latest'])).not.toBe('0x7');
  });

  it.each(missing)('%s, which it does not have, is its -32601', async (method) => {
    expect(await gateway.call('dev', method)).toMatchObject({ error: { code: -32601 } });
  });

  it('without the option, none of these methods is served', async () => {
    const methods = [...signatures(account), setBalance, ['eth_sendTransaction', {}], ['evm_snapshot'], ['evm_revert']];
    for (const [method, ...params] of [...methods, ...calls.map(([, ...one]) => one)] as readonly Call[]) {
      const message = `The method ${method} does not exist/is not available`;
      expect(await gateway.call('plain', method, params)).toMatchObject({ error: { code: -32601, message } });
    }
    expect(await gateway.call('plain', 'eth_accounts')).toMatchObject({ result: [] });
  });
});
