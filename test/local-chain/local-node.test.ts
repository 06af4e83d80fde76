import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { encodeErrorResult, keccak256, toHex, type Hex } from 'viem';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openLog } from '../../gateway/config/log.ts';
import { ACCOUNT_BALANCE } from '../../local-chain/funded-accounts.ts';
import { makeDemoChain } from '../../local-chain/demo-chain.ts';
import { findAnvil } from '../../gateway/config/find-anvil.ts';
import { callLocalNode, localNodeCommand, startLocalNode } from '../../local-chain/local-node.ts';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { freePort } from '../support/redis.ts';
import { tracked } from '../support/child-processes.ts';

const log = openLog('silent');

describe('a local node', () => {
  it('responds with the configured chain id, and has the accounts that it shows', async () => {
    const node = await startLocalNode({ chainId: 4242, log });
    const { accounts } = await node.ready;
    expect(await callLocalNode(node.url, 'eth_chainId')).toBe('0x1092');
    const addresses = accounts.map(({ address }) => address);
    expect(await callLocalNode(node.url, 'eth_accounts')).toEqual(addresses);
    for (const address of addresses) {
      expect(await callLocalNode(node.url, 'eth_getBalance', [address, 'latest'])).toBe(
        toHex(BigInt(ACCOUNT_BALANCE) * 10n ** 18n),
      );
    }
    await node.stop();
  });

  it('has ended when stop resolves, and a second stop is harmless', async () => {
    const node = await startLocalNode({ chainId: 1337, log });
    await node.ready;
    await node.stop();
    await node.stop();
    expect(() => process.kill(node.pid ?? 0, 0)).toThrow('ESRCH');
    expect(await responses(node.url)).toBe(false);
  });

  it('can be stopped before it is ready', async () => {
    const node = await startLocalNode({ chainId: 1337, log });
    await node.stop();
    await expect(node.ready).rejects.toThrow('the local node did not start: it ended before it responded: SIGTERM');
  });

  it('reports why it did not start', async () => {
    const node = await startLocalNode({ chainId: -1, log });
    await expect(node.ready).rejects.toThrow(/^the local node did not start: it ended .*exit code 2: error: .*-1/);
    await node.stop();
  });
});

describe('a local node of a gateway', () => {
  // Instead of a gateway, a process that starts a node in the same way, and ignores Ctrl-C like a draining gateway.
  const gateway = `
    const { file, args, options } = JSON.parse(process.argv[1]);
    require('node:child_process').spawn(file, args, options);
    process.on('SIGINT', () => console.log('interrupted'));
    setInterval(() => {}, 1000);`;

  it('continues after Ctrl-C, and ends when the gateway is killed', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const command = localNodeCommand(findAnvil() ?? 'anvil', { chainId: 1337, port });
    const parent = tracked(
      spawn(process.execPath, ['-e', gateway, JSON.stringify(command)], {
        detached: true, // the leader of a process group, like a command in a terminal
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
    );
    onTestFinished(() => void parent.kill('SIGKILL'));
    await eventually(() => responses(url));

    const printed = once(parent.stdout, 'data');
    process.kill(-(parent.pid ?? 0), 'SIGINT');
    await printed;
    await staysTrueFor(100, () => responses(url));

    const ended = once(parent, 'exit');
    parent.kill('SIGKILL');
    await ended;
    await eventually(async () => !(await responses(url)));
  });
});

describe('the demo chain', () => {
  let anvil: Anvil;
  const call = (method: string, ...params: unknown[]) => callLocalNode(anvil.url, method, params);
  const word = (hex: string) => hex.replace('0x', '').toLowerCase().padStart(64, '0');

  beforeAll(async () => {
    anvil = await startAnvil();
  });
  afterAll(() => anvil.stop());

  it('has a number in slot 0 of the counter', async () => {
    const { address, numberPosition, value, calls } = anvil.chain.counter;
    expect(numberPosition).toBe('0x0');
    expect(await call('eth_getStorageAt', address, numberPosition, 'latest')).toBe(`0x${word(value.toString(16))}`);
    expect(Number(await call('eth_call', { to: address, data: calls.number }, 'latest'))).toBe(value);
  });

  it('has an entry of the mapping at the keccak hash of key and slot', async () => {
    const { caller, counter } = anvil.chain;
    expect(counter.setByPosition).toBe(keccak256(`0x${word(caller)}${word('1')}`));
    const stored = await call('eth_getStorageAt', counter.address, counter.setByPosition, 'latest');
    expect(Number(stored)).toBe(counter.value);
    expect(await call('eth_call', { to: counter.address, data: counter.calls.setBy }, 'latest')).toBe(stored);
  });

  it('has a receipt with a log', async () => {
    const { setTransaction, blockHash, caller, counter } = anvil.chain;
    const receipt = await call('eth_getTransactionReceipt', setTransaction);
    expect(receipt).toMatchObject({ status: '0x1', blockHash, from: caller, to: counter.address });
    expect(receipt).toHaveProperty('logs.length', 1);
    expect(receipt).toHaveProperty('logs.0.topics.1', `0x${word(caller)}`);
    expect(receipt).toHaveProperty('logs.0.data', `0x${word(counter.value.toString(16))}`);
  });

  it('has a block of three transactions, a transfer among them, and mines none while idle', async () => {
    const { blockHash, setTransaction, transferTransaction, caller, other } = anvil.chain;
    const block = (await call('eth_getBlockByHash', blockHash, false)) as { number: string; transactions: string[] };
    expect(block.transactions).toHaveLength(3);
    expect(block.transactions).toEqual(expect.arrayContaining([setTransaction, transferTransaction]));
    expect(await call('eth_getTransactionByHash', transferTransaction)).toMatchObject({ from: caller, to: other });
    expect(await call('eth_getUncleByBlockHashAndIndex', blockHash, '0x0')).toBeNull();
    expect(await call('eth_blockNumber')).toBe(block.number);
  });

  it('estimates the gas of a call that succeeds', async () => {
    const { caller, counter } = anvil.chain;
    const gas = await call('eth_estimateGas', { from: caller, to: counter.address, data: counter.calls.set });
    expect(Number(gas)).toBeGreaterThan(21_000);
  });

  it('reverts in each of the four ways', async () => {
    const { caller, gate } = anvil.chain;
    const error = (name: string, type: string, arg: unknown) =>
      encodeErrorResult({ abi: [{ type: 'error', name, inputs: [{ type, name: 'it' }] }], args: [arg] });
    const expected: Record<keyof typeof gate.calls, Hex> = {
      open: error('Error', 'string', 'the gate is closed'),
      exit: error('Panic', 'uint256', 0x11n),
      enter: error('NotInvited', 'address', caller),
      push: '0x',
    };
    for (const [name, data] of Object.entries(gate.calls)) {
      const response = await rawReply(anvil.url, 'eth_estimateGas', [{ from: caller, to: gate.address, data }]);
      expect(response, name).toMatchObject({ error: { code: 3, data: expected[name as keyof typeof expected] } });
    }
  });

  it('mines a block for each later transaction', async () => {
    const { caller, other } = anvil.chain;
    const before = Number(await call('eth_blockNumber'));
    await call('eth_sendTransactionSync', { from: caller, to: other, value: '0x1' });
    expect(Number(await call('eth_blockNumber'))).toBe(before + 1);
  });

  it('reports that it could not be created if the node returns an error', async () => {
    const node = await startFakeNode({ chainId: 1, responses: { eth_accounts: ['0x01', '0x02'] } });
    await expect(makeDemoChain(node.url)).rejects.toThrow(
      'the demo chain could not be made: eth_sendTransactionSync: the method eth_sendTransactionSync does not exist',
    );
    await node.close();
  });
});

async function rawReply(url: string, method: string, params: unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return response.json();
}

function responses(url: string): Promise<boolean> {
  return callLocalNode(url, 'eth_chainId').then(
    () => true,
    () => false,
  );
}
