import { JsonRpcProvider } from 'ethers';
import { createPublicClient, http } from 'viem';
import { describe, expect, it, onTestFinished } from 'vitest';
import { digestOf, keyIdOf, makeKey } from '../../gateway/auth/formats/key.ts';
import type { PermissionChange } from '../../gateway/auth/stores/key-store.ts';
import { OpenCounts, serveOpenCounts } from '../../gateway/limits/open-counts.ts';
import { estimate, limited, storage, type Limited } from '../limits/limited.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { openCaller, socketUrl } from '../server/websocket/caller.ts';
import { hang } from '../support/behaviours.ts';
import { withoutTime } from '../support/elastic-clock.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { linkedWorkers } from '../workers/linked-workers.ts';

/** Infura's documents "Avoid rate limiting" and "Set rate limits", read on 2026-11-30. `details` is a sentence of the service. */
const published: readonly { readonly of: string; readonly permissions: PermissionChange; readonly error: object }[] = [
  {
    of: 'the rate of the account',
    permissions: { team: 'acme', rate: '0.001', burst: '1' },
    error: { code: 429, event: -33200, message: 'Too Many Requests' },
  },
  {
    of: 'the rate of the key',
    permissions: { rate: '0.001', burst: '1' },
    error: { code: 429, event: -33300, message: 'Too Many Requests' },
  },
  {
    of: 'the day of the account',
    permissions: { team: 'acme', daily: '1' },
    error: { code: 402, event: -33000, message: 'Payment Required' },
  },
  {
    of: 'the day of the key',
    permissions: { daily: '1' },
    error: { code: 429, event: -33400, message: 'Too Many Requests' },
  },
];

/** A gateway whose key has used up its limit. */
async function exhausted(permissions: PermissionChange): Promise<Limited> {
  const one = await limited();
  await one.setPermissions(permissions);
  expect(await one.send(storage)).toMatchObject({ status: 200 });
  return one;
}

describe.each(published)('with errors: infura, over $of', ({ permissions, error }) => {
  const { code } = error as { readonly code: number };
  const withDetails = { ...error, details: expect.stringMatching(/exceeded/) as string };

  it('the error of a call and of each call of a batch has the published members and no others', async () => {
    const one = await exhausted({ ...permissions, errors: 'infura' });
    const single = await one.send(storage);
    expect(single).toMatchObject({ status: code, body: { jsonrpc: '2.0', id: 1 } });
    expect((single.body as { error: object }).error).toStrictEqual(withDetails);
    const batch = await one.batch([storage, storage]);
    expect(batch.status).toBe(code);
    expect(batch.body).toStrictEqual([0, 1].map((id) => ({ jsonrpc: '2.0', id, error: withDetails })));
  });

  it('ethers and viem throw it', async () => {
    const one = await exhausted({ ...permissions, errors: 'infura' });
    const [method, params] = storage;
    const url = one.gateway.url('test');
    const client = createPublicClient({ transport: http(url, { retryCount: 0 }) });
    const thrown: unknown = await client.request({ method, params } as never).catch((cause: unknown) => cause);
    const { message } = error as { readonly message: string };
    expect(thrown).toMatchObject({ name: 'RpcRequestError', code, details: message });
    if (code !== 402) return;
    // ethers repeats a request after each 429, until its timeout of five minutes.
    const provider = new JsonRpcProvider(url, 7, { staticNetwork: true, batchMaxCount: 1 });
    await expect(provider.send(method, [...params])).rejects.toMatchObject({
      code: 'SERVER_ERROR',
      info: { responseStatus: '402 Payment Required' },
    });
    provider.destroy();
  });

  it('the network file chooses the form, and a key may have the other one', async () => {
    const one = await exhausted(permissions);
    expect(await one.send(storage)).toMatchObject({ status: 429, body: { error: { code: -32005 } } });
    one.gateway.save({ test: network(7, [one.node.url], { errors: 'infura' }) });
    await one.gateway.gateway.reload();
    expect((await one.send(storage)).body).toMatchObject({ error: withDetails });
    await one.setPermissions({ errors: 'gatehouse' });
    expect(await one.send(storage)).toMatchObject({ status: 429, body: { error: { code: -32005 } } });
  });

  it('a socket gets it; over the day all sockets of the key are closed, and no other is opened', async () => {
    const one = await limited();
    await one.setPermissions({ ...permissions, errors: 'infura' });
    const [idle, active] = [
      await openCaller(socketUrl(one.gateway, 'test')),
      await openCaller(socketUrl(one.gateway, 'test')),
    ];
    const [method, params] = storage;
    // At once: after the first one, the socket may be closed.
    for (const id of [1, 2]) active.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    const responses = [await active.next(), await active.next()].map((text) => JSON.parse(text) as { id: number });
    expect(responses.find(({ id }) => id === 1)).toHaveProperty('result');
    expect(responses.find(({ id }) => id === 2)).toStrictEqual({ jsonrpc: '2.0', id: 2, error: withDetails });
    if (permissions.daily === undefined) {
      expect(await active.call('eth_chainId')).toHaveProperty('error');
      return;
    }
    for (const { closed } of [active, idle])
      expect(await closed).toEqual({ code: 1008, reason: 'the quota of the project ID is used up' });
    await expect(openCaller(socketUrl(one.gateway, 'test'))).rejects.toThrow(`Unexpected server response: ${code}`);
  });
});

describe('with errors: infura, a message that does not fit into the day', () => {
  const [method, params] = storage;

  it('has the sockets of the account closed, if the cheapest call of its method does not fit either', async () => {
    const one = await limited({ UNITS_FILE: 'infura' });
    const keys = [makeKey(), makeKey()] as const;
    for (const [index, key] of keys.entries())
      await one.gateway.gateway.keys.add(digestOf(key), {
        ...{ name: 'other', createdAt: new Date().toISOString() },
        permissions: { team: 'acme', daily: '100', errors: index === 0 ? 'infura' : 'gatehouse' },
      });
    await one.setPermissions({ team: 'acme', daily: '100', errors: 'infura' });
    const active = await openCaller(socketUrl(one.gateway, 'test'));
    const [same, inOtherForm] = [
      await openCaller(socketUrl(one.gateway, 'test', keys[0])),
      await openCaller(socketUrl(one.gateway, 'test', keys[1])),
    ];
    expect(await active.call(method, params)).toHaveProperty('result');
    expect(await active.call(method, params)).toMatchObject({ error: { event: -33000 } });
    for (const { closed } of [active, same]) expect(await closed).toMatchObject({ code: 1008 });
    expect(await inOtherForm.call('eth_chainId')).toHaveProperty('result');
  });

  it.each([
    ['a batch', [storage, storage, storage]],
    ['a call that costs more than the whole day', [estimate]],
  ])('closes no socket: %s', async (_, calls) => {
    const one = await limited({ UNITS_FILE: 'infura' });
    await one.setPermissions({ daily: '200', errors: 'infura' });
    const [idle, active] = [
      await openCaller(socketUrl(one.gateway, 'test')),
      await openCaller(socketUrl(one.gateway, 'test')),
    ];
    const messages = calls.map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }));
    active.send(JSON.stringify(messages.length > 1 ? messages : messages[0]));
    expect(await active.next()).toContain('-33400');
    // Longer than the interval of the checks.
    await staysTrueFor(600, () => [idle, active].every(({ socket }) => socket.readyState === socket.OPEN));
    expect(await active.call(method, params)).toHaveProperty('result');
  });
});

describe('with errors: infura, a socket that opens later stays open, although a quota was used up', () => {
  /** Asserts that a new socket stays open for longer than the interval of the checks. */
  const staysOpen = async (gateway: TestGateway): Promise<void> => {
    const { socket } = await openCaller(socketUrl(gateway, 'test'));
    await staysTrueFor(600, () => socket.readyState === socket.OPEN);
  };

  it('by the last socket before it, which its client has closed', async () => {
    const one = await limited();
    await one.setPermissions({ daily: '1', errors: 'infura' });
    const { socket, call, closed } = await openCaller(socketUrl(one.gateway, 'test'));
    await call(...storage);
    expect(await call(...storage)).toHaveProperty('error');
    socket.terminate();
    await closed;
    const open = async (): Promise<unknown> =>
      (await readMetrics(one.gateway.address)).value('gatehouse_websockets_open', { network: 'test' });
    await eventually(async () => (await open()) === 0);
    await one.setPermissions({ daily: '100' });
    await staysOpen(one.gateway);
  });

  it('in another worker, while this one had no socket', async () => {
    const { workers, links } = await linkedWorkers(2);
    serveOpenCounts(workers.router);
    const node = await startFakeNode({ chainId: 7 });
    const networks = { test: network(7, [node.url], { errors: 'infura' }) };
    const gateway = await startGateway(networks, {}, undefined, links[1]);
    onTestFinished(async () => {
      await gateway.stop();
      await node.close();
    });
    new OpenCounts(links[0]).reportUsedUp(keyIdOf(digestOf(gateway.key)));
    // The worker has all messages before this request.
    await links[0]?.requestOthers('', undefined);
    await staysOpen(gateway);
  });
});

it('with errors: infura, rejected messages of a socket over its day are read slowly until it is closed', async () => {
  const one = await limited();
  await one.setPermissions({ daily: '1', errors: 'infura' });
  const [method, params] = storage;
  one.node.always(hang, method);
  const caller = await openCaller(socketUrl(one.gateway, 'test'));
  caller.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  expect(await caller.call('eth_chainId')).toHaveProperty('error');
  // A check of the sockets precedes it.
  await withoutTime(async () => {
    for (let count = 0; count < 300; count++) caller.send('{}');
    await eventually(() => caller.unread.length >= 111);
    for (let count = 0; count < 3; count++) await readMetrics(one.gateway.address);
    expect(caller.unread).toHaveLength(111);
  });
  caller.socket.terminate();
});

it('without errors: infura, a socket of a key over its day stays open', async () => {
  const one = await limited();
  await one.setPermissions({ daily: '1' });
  const caller = await openCaller(socketUrl(one.gateway, 'test'));
  const [method, params] = storage;
  await caller.call(method, params);
  expect(await caller.call(method, params)).toMatchObject({ error: { code: -32005 } });
  expect(await caller.call(method, params)).toMatchObject({ error: { code: -32005 } });
});
