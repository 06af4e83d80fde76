import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openParts } from '../../bench/gateway-parts.ts';
import { handleBody } from '../../gateway/call/handle-body.ts';
import { clock } from '../../gateway/clock/clock.ts';
import { Cancellation } from '../../gateway/upstreams/transport/cancellation.ts';
import { asUsual, type Exchange } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode } from '../support/fake-node.ts';

const limits = { maxItems: 10, maxValues: 1_000, maxResponseBytes: 1_000_000, concurrency: 10 };

it('a defect in a call of a batch ends the batch after the calls in progress, sends no further one, and leaves all slots', async () => {
  const node = await startFakeNode({ chainId: 5 });
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-defects-'));
  writeFileSync(
    join(folder, 'test.yaml'),
    JSON.stringify({ name: 'Test', chainId: 5, upstreams: [{ name: 'a', url: node.url }] }),
  );
  const { key, limiter, log, authenticator, networks, close } = await openParts(folder);
  onTestFinished(async () => {
    await close();
    await node.close();
    rmSync(folder, { recursive: true });
  });
  const network = networks.finder.get('test');
  if (network === undefined) throw new Error('the network is not open');
  const access = await authenticator.authenticate(key, '127.0.0.1');
  const { account } = access;
  const held: Exchange[] = [];
  node.always((exchange) => void held.push(exchange));
  // A defect of a printer is outside what handles the errors of a call.
  const printer = {
    begun: ({ method }: { readonly method: string }) => {
      if (method === 'eth_gasPrice') throw new Error('a defect');
    },
  };
  account.requests.tryEnter(account);
  let error: unknown;
  const methods = ['eth_getBlockByHash', 'eth_gasPrice', 'eth_maxPriorityFeePerGas'];
  const batch = methods.map((method, id) => ({
    ...{ jsonrpc: '2.0', id, method },
    params: id === 0 ? [`0x${'12'.repeat(32)}`, false] : [],
  }));
  const context = {
    ...{ network, access, limiter, log, requestId: '', printers: [printer] },
    ...{ deadline: clock.now() + 60_000, caller: new Cancellation() },
  };
  const handled = handleBody(Buffer.from(JSON.stringify(batch)), context, limits) as Promise<unknown>;
  handled.catch((reason: unknown) => (error = reason));
  await eventually(() => held.length === 1);
  await clock.nextTurn();
  expect(error).toBe(undefined);
  expect(account.requests.inFlight).toBe(1);
  for (const exchange of held) asUsual(exchange);
  await eventually(() => error !== undefined);
  expect(error).toEqual(new Error('a defect'));
  expect(held.length).toBe(1);
  expect(account.requests.inFlight).toBe(1);
  account.requests.leave(account);
  expect(account.requests.inFlight).toBe(0);
});
