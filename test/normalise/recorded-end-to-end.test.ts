import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import type { Behaviour } from '../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type JsonRpcResponse, type TestGateway } from '../support/gateway.ts';
import { specOf } from './normalised.ts';
import { bodyOf, expectedResponse, givenBy, paramsOf, recorded, titleOf, type Recorded } from './recorded-responses.ts';

const CHAIN_ID = 7;
/** What a response passes on its way, beside the rules: those have a row for each entry in recorded.test.ts. */
const kindOf = ({ method, failure, status, body, withPayload }: Recorded): string =>
  [method, failure, status, typeof body, withPayload !== undefined].join();
/** The first entry of each kind. Decoding and sending transactions has tests of its own. */
const entries = [...new Map(recorded.toReversed().map((entry) => [kindOf(entry), entry])).values()].filter(
  ({ method }) => method !== 'eth_sendRawTransaction',
);

/** Each entry has its own networks, with one node and with a working second one: circuits are not shared. */
describe('recorded responses, from end to end', () => {
  let bad: FakeNode;
  let good: FakeNode;
  let gateway: TestGateway;

  beforeAll(async () => {
    bad = await startFakeNode({ chainId: CHAIN_ID });
    good = await startFakeNode({ chainId: CHAIN_ID });
    const methods = { methods: ['eth', 'zks', 'debug_*', 'trace_*'] };
    const networks = entries.flatMap(({ failure }, index) => [
      [`alone-${index}`, network(CHAIN_ID, [bad.url], methods)] as const,
      ...(failure === undefined ? [] : [[`pair-${index}`, network(CHAIN_ID, [bad.url, good.url], methods)] as const]),
    ]);
    gateway = await startGateway(Object.fromEntries(networks), { UPSTREAM_CONNECTIONS: '1' });
  });
  afterAll(async () => {
    await gateway.stop();
    await Promise.all([bad.close(), good.close()]);
  });

  it.each(entries.map((entry, index) => [titleOf(entry), entry, index] as const))('%s', async (_, entry, index) => {
    const { method, failure, withPayload } = entry;
    bad.always(respondWith(entry));
    bad.always(method === 'eth_getBlockByNumber' ? respondWith(entry) : undefined, 'eth_getBlockByNumber');
    bad.always(undefined, 'eth_call');
    const alone = await gateway.call(`alone-${index}`, method, paramsOf(entry));
    if (failure !== undefined) {
      await expectFailover(entry, index, alone);
    } else {
      const { result, error } = expectedResponse(entry) ?? {};
      expect(alone).toEqual({ jsonrpc: '2.0', id: 1, ...(error === undefined ? { result } : { error }) });
      expect(JSON.stringify(alone.error?.data ?? '0x')).toMatch(/^"0x/);
    }
    if (withPayload !== undefined) {
      bad.always(respondWithPayload(entry), 'eth_call');
      const completed = await gateway.call(`alone-${index}`, method, paramsOf(entry));
      expect(completed.error).toEqual(withPayload.error);
    }
  });

  it('counts each failure under its class', async () => {
    const { samples } = await readMetrics(gateway.address);
    const counted = samples
      .filter(({ name }) => /unusable|attempts/.test(name))
      .map(({ labels }) => `${labels['network'] ?? ''} ${labels['class'] ?? labels['outcome'] ?? ''}`);
    const required = entries.flatMap(({ failure }, index) =>
      failure === undefined ? [] : [`alone-${index} ${failure}`],
    );
    expect(required.filter((one) => !counted.includes(one))).toEqual([]);
  });

  async function expectFailover(entry: Recorded, index: number, alone: JsonRpcResponse): Promise<void> {
    expectAllFailed(entry, alone);

    const result = resultOf(entry.method);
    good.response(entry.method, result);
    const elsewhere = await gateway.call(`pair-${index}`, entry.method, paramsOf({ ...entry, ...noResult }));
    expect(elsewhere).toEqual({ jsonrpc: '2.0', id: 1, result });
  }
});

const noResult = { upstreamResponse: {} };

/** The response when all upstreams failed so: docs/consistency.md and docs/errors.md. */
function expectAllFailed(entry: Recorded, { result, error }: JsonRpcResponse): void {
  const { method, failure } = entry;
  const { nullable } = specOf(method);
  const message = givenBy(entry).error?.message?.replace(/https:\S+/, '<url>');
  if (result === null) {
    expect({ nullable, failure }).toEqual({
      nullable: true,
      failure: expect.stringMatching(/^no|unsupported/) as string,
    });
    return;
  }
  switch (failure) {
    case 'unsupported': {
      expect(error).toMatchObject({ code: -32_601 });
      return;
    }
    case 'too-large': {
      const { range, payload } = (givenBy(entry).error?.data ?? {}) as { range?: string; payload?: string };
      const limit = range ?? payload;
      const text = limit === undefined ? message : `${message ?? ''}: ${limit}`;
      expect(error).toMatchObject({ code: -32_005, message: text });
      return;
    }
    case 'node-state': {
      expect(error).toMatchObject({ code: -32_603 });
      return;
    }
    case 'no-block':
    case 'unknown': {
      expect(error?.message).toContain(message);
      return;
    }
    default: {
      expect(error).toMatchObject({ code: -32_603, message: 'no upstream could answer' });
      return;
    }
  }
}

function respondWith(entry: Recorded): Behaviour {
  const type = typeof entry.body === 'string' ? 'text/html' : 'application/json';
  return ({ id, response }) =>
    void response.writeHead(entry.status ?? 200, { 'content-type': type }).end(bodyOf(entry, id));
}

/** Responds to eth_call with the payload that the estimate omits, like ganache-cli 6. */
function respondWithPayload({ withPayload }: Recorded): Behaviour {
  const data = { [`0x${'cd'.repeat(32)}`]: { error: 'revert', return: withPayload?.error?.data }, name: 'c' };
  const error = { code: -32_000, message: 'VM Exception while processing transaction: revert', data };
  return ({ id, response }) => void response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
}

/** A valid result, which is not about a particular object. */
function resultOf(method: string): unknown {
  if (method === 'eth_getStorageAt') return `0x${'0'.repeat(63)}1`;
  if (method === 'eth_getLogs') return [];
  if (method === 'eth_getProof') return { address: `0x${'11'.repeat(20)}`, accountProof: [], storageProof: [] };
  if (specOf(method).nullable) return null;
  if (method === 'zks_estimateFee') {
    return { gas_limit: '0x1', max_fee_per_gas: '0x2', max_priority_fee_per_gas: '0x0', gas_per_pubdata_limit: '0x3' };
  }
  return '0x5208';
}
