import { afterAll, beforeAll, expect, it } from 'vitest';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { socketUrl } from '../server/websocket/caller.ts';
import { onAnvil, onEveryNode } from './allowed-differences.ts';
import { isShort, readChain } from './chain-facts.ts';
import { compareEndpoints } from './compare-endpoints.ts';
import type { AllowedDifference } from './compare-outcomes.ts';
import { coreCalls, coreMethods, type CoreCall } from './core-calls.ts';
import { httpEndpoint, openWebSocketEndpoint, type RpcEndpoint } from './rpc-endpoint.ts';
import { makeTypedChain, type TypedChain } from './typed-chain.ts';

/** Chain id of none of the development chains, so that responses are cached. */
const CHAIN_ID = 7771;
/** Calls that wait at the same time, so that a busy machine delays them together. */
const LANES = 16;

let anvil: Anvil;
let gateway: TestGateway;
let node: RpcEndpoint;
let chain: TypedChain;
let calls: readonly CoreCall[];
const allowed = [...onEveryNode, ...onAnvil];
const used = new Set<AllowedDifference>();

beforeAll(async () => {
  anvil = await startAnvil({ chainId: CHAIN_ID });
  node = httpEndpoint('anvil', anvil.url);
  chain = await makeTypedChain(node);
  const facts = await readChain(node, chain);
  expect(facts.transactions.filter(isShort).length).toBeGreaterThanOrEqual(4);
  expect(new Set(facts.transactions.map(({ type }) => type))).toEqual(new Set(['0x0', '0x1', '0x2', '0x4']));
  calls = coreCalls(facts);
  gateway = await startGateway({ main: network(CHAIN_ID, [anvil.url]) });
});
afterAll(async () => {
  await gateway.stop();
  await anvil.stop();
});

it('every core method is compared', () => {
  expect(new Set(calls.map(({ method }) => method))).toEqual(new Set(coreMethods));
});

/** @param compare compares some of the calls @returns the differences of all calls */
async function inLanes(compare: (some: readonly CoreCall[]) => Promise<string[]>): Promise<string[]> {
  const lanes = Array.from({ length: LANES }, (_, lane) => calls.filter((_, index) => index % LANES === lane));
  return (await Promise.all(lanes.map(compare))).flat();
}

it.each(['HTTP', 'HTTP, again: from the cache too'])('responses are those of anvil over %s', async (name) => {
  const http = httpEndpoint(name, gateway.url('main'));
  expect(await inLanes((some) => compareEndpoints(node, http, some, allowed, used))).toEqual([]);
});

it('responses are those of anvil over WebSocket', async () => {
  const differences = await inLanes(async (some) => {
    const direct = await openWebSocketEndpoint('anvil', anvil.url.replace('http', 'ws'));
    const socket = await openWebSocketEndpoint('WebSocket', socketUrl(gateway, 'main'));
    // The gateway sends calls to anvil over HTTP, where some error messages differ from those over WebSocket.
    const request: RpcEndpoint['request'] = (method, params) =>
      (isSocketMethod(method) ? direct : node).request(method, params);
    const found = await compareEndpoints({ ...direct, request }, socket, some, allowed, used);
    direct.close();
    socket.close();
    return found;
  });
  expect(differences).toEqual([]);
});

it('the response to a sent transaction is its hash', async () => {
  for (const endpoint of [node, httpEndpoint('HTTP', gateway.url('main'))]) {
    const { raw, hash } = await chain.nextTransfer();
    expect(await endpoint.request('eth_sendRawTransaction', [raw]), endpoint.name).toBe(`result "${hash}"`);
  }
});

it('every allowed difference is met', () => {
  expect(allowed.filter((row) => !used.has(row)).map(({ reason }) => reason)).toEqual([]);
});

function isSocketMethod(method: string): boolean {
  return methods.some(({ name, handledBy }) => name === method && handledBy === 'socket');
}
