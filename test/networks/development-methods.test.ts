import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLog } from '../../gateway/config/log.ts';
import { callLocalNode, startLocalNode, type LocalNode } from '../../local-chain/local-node.ts';
import { developmentMethods } from '../../gateway/spec/methods.generated.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { eventually } from '../support/eventually.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

const CHAIN_ID = 31337;
const named = developmentMethods.filter((name) => !name.endsWith('_*'));
const notAvailable = (method: string): object => ({
  error: { code: -32601, message: `The method ${method} does not exist/is not available` },
});

let node: LocalNode;
let account: string;

beforeAll(async () => {
  node = await startLocalNode({ chainId: CHAIN_ID, log: openLog('silent') });
  await node.ready;
  [account = ''] = (await callLocalNode(node.url, 'eth_accounts')) as string[];
});
afterAll(() => node.stop());

describe('a network with development: true', () => {
  let gateway: TestGateway;
  const call = async (method: string, ...params: unknown[]): Promise<unknown> => {
    const { result, error } = await gateway.call('dev', method, params);
    if (error !== undefined) throw new Error(`${error.code} ${error.message}`);
    return result;
  };
  /** @returns the hash of a transaction in a block: anvil returns the hash, and then makes the block */
  const send = async (): Promise<unknown> => {
    const hash = await call('eth_sendTransaction', { from: account, to: account, value: '0x1' });
    await eventually(async () => (await call('eth_getTransactionReceipt', hash)) !== null);
    return hash;
  };
  beforeAll(async () => {
    gateway = await startGateway({ dev: network(CHAIN_ID, [node.url], { development: true, methods: ['eth'] }) });
  });
  afterAll(() => gateway.stop());

  it('serves the accounts and the name of its node, in place of those of the gateway', async () => {
    expect(await call('eth_accounts')).toEqual(await callLocalNode(node.url, 'eth_accounts'));
    expect(await call('web3_clientVersion')).toMatch(/^anvil/);
  });

  it('signs and sends with the accounts of its node', async () => {
    expect(await call('eth_sign', account, '0x12')).toMatch(/^0x[0-9a-f]{130}$/);
    expect(await call('personal_sign', '0x12', account)).toMatch(/^0x[0-9a-f]{130}$/);
    const hash = await send();
    expect(await call('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1', from: account });
  });

  it('sets state, and reads it at once', async () => {
    const snapshot = await call('evm_snapshot');
    await call('anvil_setBalance', account, '0x7');
    expect(await call('eth_getBalance', account, 'latest')).toBe('0x7');
    await call('hardhat_setBalance', account, '0x8');
    expect(await call('eth_getBalance', account, 'latest')).toBe('0x8');
    expect(await call('evm_revert', snapshot)).toBe(true);
    expect(await call('eth_getBalance', account, 'latest')).not.toMatch(/^0x[78]$/);
  });

  it('serves what its node has, and returns the error of the node for the rest', async () => {
    expect(await call('hardhat_metadata')).toMatchObject({ chainId: CHAIN_ID });
    expect(await call('anvil_nodeInfo')).toHaveProperty('currentBlockNumber');
    expect(await gateway.call('dev', 'hardhat_noSuch')).toMatchObject({ error: { code: -32601 } });
    for (const method of ['anvil_', 'anvil_no-such', 'anvils_mine', 'erigon_forks']) {
      expect(await gateway.call('dev', method)).toMatchObject(notAvailable(method));
    }
  });

  it('serves the traces of its node, from which ape and foundry read return values', async () => {
    const hash = await send();
    expect(await call('debug_traceTransaction', hash)).toMatchObject({ failed: false, returnValue: '0x' });
    expect(await call('trace_transaction', hash)).toMatchObject([{ type: 'call', transactionHash: hash }]);
    expect(await call('txpool_status')).toEqual({ pending: '0x0', queued: '0x0' });
    expect(await call('ots_getApiLevel')).toBe(8);
  });

  it('counts a namespace as one method, so that callers cannot add metrics', async () => {
    const { text } = await readMetrics(gateway.address);
    expect(text).toMatch(/gatehouse_calls_total\{[^}]*method="evm_\*"[^}]*\} 2/);
    expect(text).not.toMatch(/method="(evm_snapshot|hardhat_noSuch)"/);
  });

  it('has its methods in its document', async () => {
    const document = await fetch(`${gateway.address}/dev/openrpc.json`);
    const { methods, 'x-pass-through': open } = (await document.json()) as {
      readonly methods: readonly { readonly name: string }[];
      readonly 'x-pass-through': { readonly methods: readonly string[] };
    };
    const shown = [...methods.map(({ name }) => name), ...open.methods];
    expect(shown).toEqual(expect.arrayContaining([...developmentMethods]));
  });
});

describe.each([
  ['in production', { development: true }, { NODE_ENV: 'production' }],
  ['whose chain id is that of a development chain', {}, {}],
] as const)('a network %s', (_, options, env) => {
  it('serves no development method that its file does not name', async () => {
    const upstreams = [node.url];
    const gateway = await startGateway(
      {
        dev: network(CHAIN_ID, upstreams, options),
        named: network(CHAIN_ID, upstreams, { ...options, methods: ['eth', 'evm_snapshot'] }),
      },
      env,
    );
    for (const method of [...named, 'evm_snapshot', 'anvil_nodeInfo', 'hardhat_metadata']) {
      if (method === 'eth_accounts') expect(await gateway.call('dev', method)).toMatchObject({ result: [] });
      else if (method === 'web3_clientVersion') {
        expect(await gateway.call('dev', method)).toMatchObject({
          result: expect.stringContaining('Gatehouse') as string,
        });
      } else expect(await gateway.call('dev', method)).toMatchObject(notAvailable(method));
    }
    expect(await gateway.call('named', 'evm_snapshot')).toMatchObject({
      result: expect.stringMatching(/^0x/) as string,
    });
    expect(await gateway.call('named', 'evm_revert')).toMatchObject(notAvailable('evm_revert'));
    await gateway.stop();
  });
});

it('the local chain that the gateway runs is a development network', async () => {
  const upstreams = [{ name: 'anvil', spawn: 'anvil' }];
  const gateway = await startGateway({ local: { ...network(CHAIN_ID, []), upstreams } });
  expect(await gateway.call('local', 'eth_accounts')).toMatchObject({
    result: expect.arrayContaining([account]) as unknown,
  });
  expect(await gateway.call('local', 'hardhat_getAutomine')).toMatchObject({ result: true });
  await gateway.stop();
});
