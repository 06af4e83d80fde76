import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

/** The key of the fourth account of every anvil; it is public. */
const privateKey = '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6';

let anvil: Anvil;
let gateway: TestGateway;

beforeAll(async () => {
  anvil = await startAnvil();
  gateway = await startGateway({ local: network(1337, [anvil.url]) });
});
afterAll(async () => {
  await gateway.stop();
  await anvil.stop();
});

describe.each(['http', 'ws'])('cast over %s', (transport) => {
  const url = (): string =>
    transport === 'http' ? gateway.url('local') : `${gateway.address.replace('http', 'ws')}/local/ws/v3/${gateway.key}`;

  async function cast(...args: string[]): Promise<string> {
    const program = join(packageRoot, 'node_modules/.bin/cast');
    const { stdout, stderr } = await promisify(execFile)(program, [...args, '--rpc-url', url()], { timeout: 15_000 });
    // The wrapper from npm ends with exit code 0 even after an error.
    if (stderr.includes('Error: ')) throw new Error(stderr);
    return stdout.trim();
  }

  it('reads blocks and state', async () => {
    const { caller, counter, blockHash } = anvil.chain;
    expect(await cast('chain-id')).toBe('1337');
    expect(Number(await cast('block-number'))).toBeGreaterThan(0);
    expect(BigInt(await cast('balance', caller))).toBeGreaterThan(9n * 10n ** 21n);
    expect(await cast('storage', counter.address, '0')).toMatch(/^0x[0-9a-f]{64}$/);
    expect(await cast('block', blockHash, '--field', 'hash')).toBe(blockHash);
    expect(await cast('call', counter.address, 'number()(uint256)')).toMatch(/^\d+$/);
    expect(await cast('logs', '--from-block', '0', '--address', counter.address)).toContain('transactionHash');
  });

  it('estimates gas, and shows why a call reverts', async () => {
    const { caller, counter, gate } = anvil.chain;
    expect(Number(await cast('estimate', '--from', caller, counter.address, 'set(uint256)', '7'))).toBeGreaterThan(
      21_000,
    );
    await expect(cast('estimate', '--from', caller, gate.address, 'open()')).rejects.toThrow(/the gate is closed/);
    await expect(cast('call', gate.address, 'open()')).rejects.toThrow(/the gate is closed/);
  });

  it('sends a transaction, and waits for the receipt', async () => {
    const { counter } = anvil.chain;
    const number = transport === 'http' ? '1234' : '5678';
    const receipt = await cast('send', '--json', '--private-key', privateKey, counter.address, 'set(uint256)', number);
    const { status, transactionHash } = JSON.parse(receipt) as { status: string; transactionHash: string };
    expect(status).toBe('0x1');
    expect(await cast('receipt', transactionHash, 'status')).toMatch(/^(1|true|1 \(success\))$/);
    expect(await cast('call', counter.address, 'number()(uint256)')).toMatch(new RegExp(`^${number}`));
  });
});
