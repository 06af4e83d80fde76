import { describe, expect, it, onTestFinished } from 'vitest';
import { clock } from '../../../gateway/clock/clock.ts';
import { digestOf, keyIdOf, makeKey } from '../../../gateway/auth/formats/key.ts';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { CommandFolder } from '../../support/command-folder.ts';
import { hang, slow, status } from '../../support/behaviours.ts';
import { eventually, staysTrueFor } from '../../support/eventually.ts';
import { rpcError } from '../../support/fake-node.ts';
import type { JsonRpcResponse } from '../../support/gateway.ts';
import { diagnosticsIn } from '../../network-files/load.ts';
import { hash, raw, receipt, send, sendAndWait, startSenders } from './sending.ts';

/** Two public nodes and a relay, node-2. `sendPrivate` uses a key with the capability. */
async function startRelay(options: object = {}, env: Record<string, string> = {}, more: object = {}) {
  const senders = await startSenders(3, { private: { upstreams: ['node-2'], ...options }, ...more }, env);
  const { gateway } = senders;
  const key = makeKey();
  const { keys } = gateway.gateway;
  await keys.add(digestOf(key), { name: 'private', createdAt: new Date().toISOString() });
  await keys.update(keyIdOf(digestOf(key)), { permissions: 'private' });
  return {
    ...senders,
    relay: senders.nodes[2],
    sendPrivate: async (method = send, params: unknown = [raw]) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      const response = await fetch(`${gateway.address}/test/v3/${key}`, { method: 'POST', body });
      return { status: response.status, response: (await response.json()) as JsonRpcResponse };
    },
  };
}

describe('a transaction of a key with the capability `private`', () => {
  it('is sent to the relays only', async () => {
    const { sendPrivate, sent } = await startRelay();
    expect((await sendPrivate()).response.result).toBe(hash);
    expect(sent()).toEqual([0, 0, 1]);
  });

  it.each([
    ['fails', status(503)],
    ['hangs', hang],
  ])('is not sent to others when the relay %s', async (_, behaviour) => {
    const failsafe = { [send]: { timeoutMs: 1_000 } };
    const { relay, sendPrivate, sent } = await startRelay({}, {}, { failsafe });
    relay?.always(behaviour, send);
    expect((await sendPrivate()).status).toBe(503);
    expect(sent()).toEqual([0, 0, 1]);
  });

  it('is not sent to others when the relay returns an error about it, also with a fallback', async () => {
    const { relay, sendPrivate, sent } = await startRelay({ fallbackAfterMs: 2_000 });
    relay?.response(send, rpcError(-32_000, 'nonce too high'));
    expect((await sendPrivate()).response.error?.message).toBe('nonce too high');
    await staysTrueFor(50, () => sent().join() === '0,0,1');
  });

  it('is not sent to others when the relay returns an error that Gatehouse does not know', async () => {
    const { relay, sendPrivate, sent } = await startRelay({ fallbackAfterMs: 300 });
    relay?.response(send, rpcError(-32_000, 'bundle simulation failed'));
    const { response } = await sendPrivate();
    expect(response.error).toMatchObject({ code: -32_000, message: 'bundle simulation failed' });
    await staysTrueFor(500, () => sent().join() === '0,0,1');
  });

  it.each([
    [['node-2'], [0, 0, 1]],
    [
      ['node-1', 'node-2'],
      [0, 1, 1],
    ],
  ])('is not sent to others while %j wait for its receipt and do not return it', async (upstreams, counts) => {
    const env = { CALL_TIMEOUT_MS: '6000' };
    const { gateway, nodes, sendPrivate, sent } = await startRelay({ upstreams, fallbackAfterMs: 300 }, env);
    for (const node of nodes) {
      node.response(sendAndWait, receipt);
      node.always(slow(2_500), sendAndWait);
    }
    expect((await sendPrivate(sendAndWait)).response.result).toMatchObject(receipt);
    expect(sent(sendAndWait)).toEqual(counts);
    expect((await readMetrics(gateway.address)).value('gatehouse_transactions_revealed_total')).toBe(0);
  });

  it('is sent to the others when the relay fails to wait for its receipt', async () => {
    const { nodes, relay, sendPrivate, sent } = await startRelay({ fallbackAfterMs: 300 });
    for (const node of nodes) node.response(sendAndWait, receipt);
    relay?.always(status(503), sendAndWait);
    expect((await sendPrivate(sendAndWait)).response.result).toMatchObject(receipt);
    expect(sent(sendAndWait)).toEqual([1, 1, 1]);
  });

  it('does not count as revealed if no other upstream gets it', async () => {
    const failsafe = { [send]: { maxAttempts: 1 } };
    const { gateway, relay, sendPrivate, sent } = await startRelay({ fallbackAfterMs: 300 }, {}, { failsafe });
    relay?.always(status(503), send);
    expect((await sendPrivate()).status).toBe(503);
    expect(sent()).toEqual([0, 0, 1]);
    expect((await readMetrics(gateway.address)).value('gatehouse_transactions_revealed_total')).toBe(0);
  });

  it.each([
    ['fails', status(503)],
    ['hangs', hang],
  ])('is sent to the others after `fallbackAfterMs` when the relay %s', async (_, behaviour) => {
    const { gateway, relay, sendPrivate, sent } = await startRelay({ fallbackAfterMs: 300 });
    relay?.always(behaviour, send);
    const startedAt = clock.now();
    expect((await sendPrivate()).response.result).toBe(hash);
    expect(clock.now() - startedAt).toBeGreaterThan(290);
    await eventually(() => sent().join() === '1,1,1');
    expect((await readMetrics(gateway.address)).value('gatehouse_transactions_revealed_total')).toBe(1);
  });

  it('has a fallback before the end of its call, or the gateway does not start, and `check` says so', async () => {
    await expect(startRelay({ fallbackAfterMs: 2_950 }, { CALL_TIMEOUT_MS: '3000' })).rejects.toThrow(
      /private\.fallbackAfterMs: no other upstream gets a transaction, because calls end after CALL_TIMEOUT_MS, 3000 ms/,
    );
    const upstreams = ['node', 'relay'].map((name) => ({ name, url: 'http://127.0.0.1:1' }));
    const file = { name: 'Base', chainId: 8453, upstreams, private: { upstreams: ['relay'], fallbackAfterMs: 15_000 } };
    const place = new CommandFolder().withNetworks({ base: file });
    onTestFinished(() => place.close());
    const checked = await place.run(['check']);
    expect(checked.code).toBe(78);
    expect(checked.stderr).toMatch(/base\.yaml:1:\d+ private\.fallbackAfterMs: .* CALL_TIMEOUT_MS, 15000 ms; write/);
    expect(await place.run(['check'], { CALL_TIMEOUT_MS: '15100' })).toMatchObject({ code: 0, stderr: '' });
  });

  it.each(['eth_sendBundle', 'debug_batchSendRawTransaction', 'relay_submitTransaction'])(
    'is sent to the relays only by %s, which has no schema, too',
    async (method) => {
      const { nodes, sendPrivate, sent } = await startRelay(
        { fallbackAfterMs: 5_000 },
        {},
        { methods: ['eth', method] },
      );
      for (const node of nodes) node.response(method, { bundleHash: hash });
      expect((await sendPrivate(method, [{ txs: [raw] }])).response.result).toEqual({ bundleHash: hash });
      expect(sent(method)).toEqual([0, 0, 1]);
    },
  );

  it('is rejected by a network without a relay', async () => {
    const { sendPrivate, sent } = await startRelay({}, {}, { private: undefined });
    const { status: code, response } = await sendPrivate();
    expect(code).toBe(403);
    expect(response.error?.message).toMatch(
      /^transactions of this project id are private, and this network has no relay/,
    );
    expect(sent()).toEqual([0, 0, 0]);
  });

  it('is sent there although `transactions` names others', async () => {
    const { sendPrivate, sendRaw, sent } = await startRelay({}, {}, { transactions: ['node-0', 'node-1'] });
    expect((await sendPrivate()).response.result).toBe(hash);
    expect(sent()).toEqual([0, 0, 1]);
    await sendRaw();
    await eventually(() => sent().join() === '1,1,1');
  });
});

it.each(['first', 'all'])(
  'relays do not get transactions of other keys, with `transactions: %s`',
  async (transactions) => {
    const { nodes, sendRaw, sent } = await startRelay({}, {}, { transactions });
    for (const node of nodes.slice(0, 2)) node.response(send, rpcError(-32_000, 'txpool is full'));
    expect((await sendRaw()).response.error?.message).toBe('txpool is full');
    expect(sent()).toEqual([1, 1, 0]);
  },
);

describe('the network file', () => {
  const file = (more: object): Record<string, string> => ({
    'base.yaml': JSON.stringify({
      name: 'Base',
      chainId: 8453,
      upstreams: [
        { name: 'node', url: 'https://node.example.org' },
        { name: 'relay', url: 'https://relay.example.org', methods: ['-eth_sendRawTransaction*'] },
      ],
      ...more,
    }),
  });
  it.each([
    [{ transactions: ['nodes'] }, 'transactions[0]: nodes is no upstream of the network; did you mean node?'],
    [
      { transactions: ['node', 'relay'] },
      'transactions[1]: relay may not get eth_sendRawTransaction: change its methods, or route',
    ],
    [{ transactions: 'al' }, 'transactions: expected first, all, or a list of names of upstreams; did you mean all?'],
    [{ transactions: [] }, 'transactions: expected first, all, or a list of names of upstreams'],
    [
      { private: { upstreams: ['rely'] } },
      'private.upstreams[0]: rely is no upstream of the network; did you mean relay?',
    ],
    [
      { private: { upstreams: ['relay'] } },
      'private.upstreams[0]: relay may not get eth_sendRawTransaction: change its methods, or route',
    ],
    [{ private: {} }, 'private.upstreams is missing: expected list of names of upstreams'],
    [
      { private: { upstreams: ['node'], fallbackAfterMs: 0 } },
      'private.fallbackAfterMs: expected whole number of milliseconds from 1 to 600000',
    ],
    [
      { private: { upstreams: ['node'] } },
      'upstreams: none may get eth_sendRawTransaction, eth_sendRawTransactionSync: change methods, route or the methods of an upstream',
    ],
  ])('%j is a mistake', (more, message) => {
    expect(diagnosticsIn(file(more)).map((line) => line.replace(/^base\.yaml:\d+:\d+ /, ''))).toEqual([message]);
  });
});
