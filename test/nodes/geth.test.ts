import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { onEveryNode, onGeth } from '../parity/allowed-differences.ts';
import { isShort, readChain } from '../parity/chain-facts.ts';
import { compareEndpoints } from '../parity/compare-endpoints.ts';
import type { AllowedDifference } from '../parity/compare-outcomes.ts';
import { coreCalls, coreMethods, type CoreCall } from '../parity/core-calls.ts';
import { httpEndpoint, fetchResult, openWebSocketEndpoint, type RpcEndpoint } from '../parity/rpc-endpoint.ts';
import { makeTypedChain, sender, type TypedChain } from '../parity/typed-chain.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { socketUrl } from '../server/websocket/caller.ts';
import { findGeth, GETH_VERSION } from './find-geth.ts';
import { importSuiteChain, startDevGeth, type Geth, type SuiteChain } from './geth.ts';
import { suiteFolder } from './suite/conversations.ts';

/** Chain id of none of the development chains, so that responses are cached. */
const CHAIN_ID = 7771;

const allowed = [...onEveryNode, ...onGeth];
const used = new Set<AllowedDifference>();
let binary: string;

beforeAll(() => {
  binary = findGeth();
});

describe(`a development chain of geth ${GETH_VERSION}`, () => {
  let geth: Geth;
  let gateway: TestGateway;
  let node: RpcEndpoint;
  let chain: TypedChain;
  let calls: readonly CoreCall[];

  beforeAll(async () => {
    geth = await startDevGeth(binary, CHAIN_ID, sender);
    node = httpEndpoint('geth', geth.url);
    expect(await fetchResult(node, 'web3_clientVersion')).toMatch(`/v${GETH_VERSION}-`);
    chain = await makeTypedChain(node, { hasBlobs: true });
    const facts = await readChain(node, chain);
    expect(facts.transactions.filter(isShort).length).toBeGreaterThanOrEqual(4);
    expect(new Set(facts.transactions.map(({ type }) => type))).toEqual(new Set(['0x0', '0x1', '0x2', '0x3', '0x4']));
    calls = coreCalls(facts);
    gateway = await startGateway({ main: network(CHAIN_ID, [geth.url]) });
  });
  afterAll(async () => {
    await gateway.stop();
    await geth.stop();
  });

  it('every core method is compared', () => {
    expect(new Set(calls.map(({ method }) => method))).toEqual(new Set(coreMethods));
  });

  it('over HTTP, responses are those of geth, from the cache too', async () => {
    const http = httpEndpoint('HTTP', gateway.url('main'));
    expect(await compareEndpoints(node, http, calls, allowed, used)).toEqual([]);
    expect(await compareEndpoints(node, { ...http, name: 'HTTP, again' }, calls, allowed, used)).toEqual([]);
  });

  it('over WebSocket, responses are those of geth', async () => {
    const direct = await openWebSocketEndpoint('geth', geth.socketUrl);
    const socket = await openWebSocketEndpoint('WebSocket', socketUrl(gateway, 'main'));
    expect(await compareEndpoints(direct, socket, calls, allowed, used)).toEqual([]);
    direct.close();
    socket.close();
  });

  it('the response to a sent transaction is its hash', async () => {
    for (const endpoint of [node, httpEndpoint('HTTP', gateway.url('main'))]) {
      const { raw, hash } = await chain.nextTransfer();
      expect(await endpoint.request('eth_sendRawTransaction', [raw]), endpoint.name).toBe(`result "${hash}"`);
    }
  });
});

describe(`the chain of execution-apis on geth ${GETH_VERSION}`, () => {
  let suite: SuiteChain;
  let geth: Geth;
  let gateway: TestGateway;
  let node: RpcEndpoint;

  beforeAll(async () => {
    suite = importSuiteChain(binary, suiteFolder());
    geth = await suite.start();
    node = httpEndpoint('geth', geth.url);
    gateway = await startGateway({ main: network(suite.chainId, [geth.url]) });
  });
  afterAll(async () => {
    await gateway.stop();
    await geth.stop();
    suite.delete();
  });

  it('responses are those of geth, from the cache too', async () => {
    const facts = await readChain(node);
    const isForwarded = new Set(methods.filter(({ handledBy }) => handledBy === undefined).map(({ name }) => name));
    const calls = coreCalls(facts).filter(({ method }) => isForwarded.has(method));
    const http = httpEndpoint('HTTP', gateway.url('main'));
    expect(await compareEndpoints(node, http, calls, allowed, used)).toEqual([]);
    expect(await compareEndpoints(node, { ...http, name: 'HTTP, again' }, calls, allowed, used)).toEqual([]);
  });
});

it('every allowed difference is met', () => {
  expect(allowed.filter((row) => !used.has(row)).map(({ reason }) => reason)).toEqual([]);
});
