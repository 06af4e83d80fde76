import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { encodePanic, encodeReason, decodeReason } from '../../gateway/normalise/errors/revert-payload.ts';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { network, startGateway, type JsonRpcResponse, type TestGateway } from '../support/gateway.ts';
import { eventually } from '../support/eventually.ts';

const CHAIN_ID = 1337;

/**
 * A contract that reverts with its calldata:
 * CALLDATASIZE PUSH1 0 PUSH1 0 CALLDATACOPY CALLDATASIZE PUSH1 0 REVERT, after the code that deploys it.
 */
const REVERTS = '366000600037366000fd';
const deployment = (runtime: string): string => {
  const bytes = (runtime.length / 2).toString(16).padStart(2, '0');
  return `0x60${bytes}600c60003960${bytes}6000f3${runtime}`;
};

/** INVALID, which halts without a revert. */
const HALTS = 'fe';

const payloads: Readonly<Record<string, string>> = {
  'a plain reason': encodeReason('plain reason'),
  nothing: '0x',
  'an empty reason': encodeReason(''),
  'a panic': encodePanic('11'),
  'an unknown panic': encodePanic('deadbeef'),
  'a custom error': '0xfe47b63c0000000000000000000000000000000000000000000000000000000000000007',
  'a selector': '0xd144d9e3',
  'a reason in many scripts': encodeReason('不足 💥 ñ \u202e rtl'),
  'a reason of several lines': encodeReason('line1\nline2\ttab\r\n'),
  'a very long reason': encodeReason('L'.repeat(20_000)),
  'a reason that reads like a provider error': encodeReason('rate limit exceeded'),
  'a reason that reads like a node error': encodeReason('header not found'),
  'a reason that is no revert': encodeReason('out of gas'),
  'a length that is not true': `0x08c379a0${'20'.padStart(64, '0')}${'f'.repeat(64)}`,
  'bytes that are no UTF-8': `0x08c379a0${'20'.padStart(64, '0')}${'4'.padStart(64, '0')}61fffe62${'0'.repeat(56)}`,
};

describe('anvil through the gateway', () => {
  let anvil: Anvil;
  let gateway: TestGateway;
  let reverting: string;
  let halting: string;

  beforeAll(async () => {
    anvil = await startAnvil({ chainId: CHAIN_ID });
    gateway = await startGateway({ anvil: network(CHAIN_ID, [anvil.url]) });
    reverting = await deploy(anvil.url, deployment(REVERTS));
    halting = await deploy(anvil.url, deployment(HALTS));
  }, 60_000);
  afterAll(async () => {
    await gateway.stop();
    await anvil.stop();
  });

  const executing = ['eth_estimateGas', 'eth_call'].filter((one) => methods.some(({ name }) => name === one));

  describe.each(executing)('%s', (method) => {
    const sendCall = (to: string, data: string): Promise<JsonRpcResponse> =>
      gateway.call('anvil', method, [{ to, data }, 'latest']);

    it.each(Object.entries(payloads))('of a contract that reverts with %s', async (_, data) => {
      const reason = decodeReason(data);
      const message = reason === undefined ? 'execution reverted' : `execution reverted: ${reason}`;
      const expected = { jsonrpc: '2.0', id: 1, error: { code: 3, message, data } };
      expect(await sendCall(reverting, data)).toEqual(expected);
    });

    it('of a contract that halts is an error other than a revert', async () => {
      const { error } = await sendCall(halting, '0x');
      expect(error?.message).toMatch(/opcode/i);
      expect(error).not.toMatchObject({ code: 3 });
      expect(error).not.toHaveProperty('data');
    });
  });

  const unknown = `0x${'ab'.repeat(32)}`;

  it.each([
    ['eth_getBlockByHash', [unknown, true]],
    ['eth_getUncleByBlockHashAndIndex', [unknown, '0x0']],
    ['eth_getTransactionByHash', [unknown]],
    ['eth_getTransactionReceipt', [unknown]],
  ])('%s of a hash that is not there', async (method, params) => {
    expect(await gateway.call('anvil', method, params)).toEqual({ jsonrpc: '2.0', id: 1, result: null });
  });

  it('eth_getStorageAt of nothing', async () => {
    const response = await gateway.call('anvil', 'eth_getStorageAt', [reverting, '0x63', 'latest']);
    expect(response).toMatchObject({ result: `0x${'0'.repeat(64)}` });
  });
});

/** @returns the address of the contract */
async function deploy(url: string, data: string): Promise<string> {
  const [from] = (await sendCall(url, 'eth_accounts')) as string[];
  const hash = await sendCall(url, 'eth_sendTransaction', { from, data, gas: '0x30d40' });
  let address: string | undefined;
  await eventually(async () => {
    const receipt = (await sendCall(url, 'eth_getTransactionReceipt', hash)) as { contractAddress: string } | null;
    address = receipt?.contractAddress;
    return address !== undefined;
  });
  return address as unknown as string;
}

async function sendCall(url: string, method: string, ...params: unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return ((await response.json()) as { result: unknown }).result;
}
