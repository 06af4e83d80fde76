import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { eventually } from '../support/eventually.ts';
import { withVerification } from './with-verification.ts';

const CHAIN_ID = 1339;
let anvil: Anvil;

beforeAll(async () => {
  anvil = await startAnvil({ chainId: CHAIN_ID });
});
afterAll(() => anvil.stop());

it('a result of an upstream leaves the memory cache once another result of it for the method is disproved', async () => {
  const { gateway, nodes, send } = await withVerification(CHAIN_ID, [anvil.url, anvil.url, anvil.url], {});
  const strict = makeKey();
  const permissions = { verify: 'enforce' };
  await gateway.gateway.keys.add(digestOf(strict), { name: 'a', createdAt: new Date().toISOString(), permissions });
  const method = 'eth_getTransactionReceipt';
  const params = [anvil.chain.setTransaction];
  nodes[0]?.lie(method, (receipt: object) => ({ ...receipt, status: '0x0' }));
  const statusOf = async () => ((await send(method, params)).result as { readonly status: string }).status;
  const sent = (): number => nodes.flatMap(({ methods }) => methods.filter((one) => one === method)).length;
  // It is cached once the gateway follows its block.
  await eventually(async () => {
    const before = sent();
    expect(await statusOf()).toBe('0x0');
    return sent() === before;
  });
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(`${gateway.address}/test/v3/${strict}`, { method: 'POST', body });
  expect(await response.json()).toMatchObject({ result: { status: '0x1' } });
  expect(await statusOf()).toBe('0x1');
});
