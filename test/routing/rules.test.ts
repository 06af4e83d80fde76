import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openParts } from '../../bench/gateway-parts.ts';
import type { Call } from '../../gateway/call/call.ts';
import type { Router } from '../../gateway/call/router.ts';
import type { RuleAccess } from '../../gateway/call/rules/rule.ts';
import { listOf, rules, rulesOf } from '../../gateway/call/rules/rule-list.ts';
import type { MethodSpec } from '../../gateway/spec/method-spec.ts';

/** Opens a network. @returns its router, and the methods that it serves, by name */
async function openRouter(options: object): Promise<{ router: Router; specOf: (method: string) => MethodSpec }> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-rules-'));
  const upstreams = ['a', 'b'].map((name) => ({ name, url: `http://127.0.0.1:9/${name}` }));
  writeFileSync(join(folder, 'test.yaml'), JSON.stringify({ name: 'Test', chainId: 1, upstreams, ...options }));
  const parts = await openParts(folder);
  onTestFinished(async () => {
    await parts.close();
    rmSync(folder, { recursive: true });
  });
  const network = parts.networks.finder.get('test');
  if (network === undefined) throw new Error('the network is not active');
  const specOf = (method: string): MethodSpec => {
    const spec = network.methods.get(method)?.spec;
    if (spec === undefined) throw new Error(`${method} is not served`);
    return spec;
  };
  return { router: network.router, specOf };
}

/** @returns the names of the rules of a method */
async function openNetwork(
  options: object,
): Promise<(method: string, access?: RuleAccess, isVerified?: boolean) => readonly string[]> {
  const { router, specOf } = await openRouter(options);
  return (method, access = 'key', isVerified = false) => listOf(specOf(method), router, access, isVerified).names;
}

it('the order of the rules', () => {
  expect(rules.map(([name]) => name)).toEqual([
    'sender charge',
    'gas cap',
    'transaction route',
    'accepted transactions',
    'follow-up',
    'sent transaction',
    'late receipt',
    'shared blocks',
    'verification',
    'catching up',
    'confirmation',
  ]);
});

it('a call of a plain network has only the rules of its method', async () => {
  const rulesOf = await openNetwork({});
  expect(rulesOf('eth_call')).toEqual(['gas cap', 'catching up', 'confirmation']);
  expect(rulesOf('eth_call', 'gatehouse')).toEqual(['catching up', 'confirmation']);
  expect(rulesOf('eth_estimateGas')).toEqual(['gas cap', 'follow-up', 'catching up', 'confirmation']);
  expect(rulesOf('eth_getTransactionReceipt')).toEqual(['accepted transactions', 'confirmation']);
  for (const method of ['eth_getBalance', 'eth_getBlockByNumber', 'eth_getLogs', 'eth_blockNumber'])
    expect(rulesOf(method)).toEqual(['catching up', 'confirmation']);
  expect(rulesOf('eth_gasPrice')).toEqual(['catching up']);
  expect(rulesOf('net_version')).toEqual([]);
});

it('with one upstream, only what may be older than served blocks is confirmed', async () => {
  const rulesOf = await openNetwork({ upstreams: [{ name: 'a', url: 'http://127.0.0.1:9/a' }] });
  for (const method of ['eth_call', 'eth_getBalance', 'eth_getLogs', 'eth_syncing'])
    expect([method, ...rulesOf(method, 'gatehouse')]).toEqual([method]);
  for (const method of ['eth_getBlockByNumber', 'eth_getTransactionReceipt', 'eth_blockNumber'])
    expect(rulesOf(method, 'gatehouse')).toEqual(['confirmation']);
});

it('results are verified for calls that require it, and reads of callers where they are observed', async () => {
  const rulesOf = await openNetwork({});
  expect(rulesOf('eth_getBalance', 'key', true)).toEqual(['verification', 'catching up', 'confirmation']);
  const observed = await openNetwork({ verify: { level: { eth_getBalance: 'observe' } } });
  expect(observed('eth_getBalance')).toEqual(['verification', 'catching up', 'confirmation']);
  expect(observed('eth_getBalance', 'gatehouse')).toEqual(['catching up', 'confirmation']);
  expect(observed('eth_gasPrice')).toEqual(['catching up']);
});

it('transactions have a route if the network or the key says where they go', async () => {
  const first = await openNetwork({});
  expect(first('eth_sendRawTransaction')).toEqual(['sent transaction']);
  expect(first('eth_sendRawTransactionSync')).toEqual(['sent transaction', 'late receipt', 'confirmation']);
  expect(first('eth_sendRawTransaction', 'public')).toEqual(['sender charge', 'sent transaction']);
  expect(first('eth_sendRawTransaction', 'private')).toEqual(['transaction route', 'sent transaction']);
  expect((await openNetwork({ transactions: 'all' }))('eth_sendRawTransaction')).toEqual([
    'transaction route',
    'sent transaction',
  ]);
});

it('calls share the list of their network, method, access and verification', async () => {
  const [{ router, specOf }, other] = [await openRouter({}), await openRouter({})];
  const balance = specOf('eth_getBalance');
  const key = { capabilities: {} };
  const listFor = (method: MethodSpec, access?: object, more: object = {}) =>
    rulesOf({ router, method, context: access && { access }, verification: undefined, ...more } as unknown as Call);
  const combinations = [
    () => listFor(balance),
    () => listFor(balance, key),
    () => listFor(balance, { capabilities: { private: true } }),
    () => listFor(balance, { publicCaller: {}, capabilities: {} }),
    () => listFor(balance, key, { verification: {} }),
    () => listFor(balance, key, { router: other.router }),
    () => listFor(specOf('eth_call'), key),
  ];
  const lists = combinations.map((list) => list());
  expect(new Set(lists).size).toBe(combinations.length);
  combinations.forEach((list, index) => expect(list()).toBe(lists[index]));
});
