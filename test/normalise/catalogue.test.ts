import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Behaviour } from '../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type JsonRpcResponse, type TestGateway } from '../support/gateway.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import {
  bodyOf,
  methodOf,
  paramsOf,
  readCases,
  reasonToLeaveOut,
  type Case,
  type Expected,
} from './catalogue-cases.ts';

const CHAIN_ID = 7;
const all = readCases();
const cases = (all ?? []).filter((one) => reasonToLeaveOut(one) === undefined);

/** The failure classes for each class of the catalogue. */
const classes: Readonly<Record<string, readonly string[]>> = {
  node_state: ['node-state', 'no-block', 'not-found'],
  rate_limit: ['rate'],
  quota: ['quota'],
  capacity: ['rate', 'transport'],
  timeout: ['rate', 'node-state', 'transport'],
  request_too_large: ['too-large'],
  unsupported: ['unsupported'],
  // Erigon returns an estimate of 0x0 for a block that it does not have.
  malformed: ['malformed', 'transport', 'auth', 'node-state'],
  node_error: ['unknown'],
};

describe.skipIf(all !== undefined)('the catalogue of node variants', () => {
  it('is absent (../shared/data/node-variants.json): only test/recorded is tested', () => {
    expect(cases).toEqual([]);
  });
});

/** Each case has its own networks, with one node and with a working second one: circuits are not shared. */
describe.runIf(all !== undefined)('the catalogue of node variants, from end to end', () => {
  let bad: FakeNode;
  let good: FakeNode;
  let gateway: TestGateway;
  const passed = new Set<string>();

  beforeAll(async () => {
    bad = await startFakeNode({ chainId: CHAIN_ID });
    good = await startFakeNode({ chainId: CHAIN_ID });
    const methods = { methods: ['eth', 'zks'] };
    const networks = cases.flatMap((_, index) => [
      [`alone-${index}`, network(CHAIN_ID, [bad.url], methods)] as const,
      [`pair-${index}`, network(CHAIN_ID, [bad.url, good.url], methods)] as const,
    ]);
    gateway = await startGateway(Object.fromEntries(networks), { UPSTREAM_CONNECTIONS: '1' });
  }, 60_000);
  afterAll(async () => {
    await gateway.stop();
    await Promise.all([bad.close(), good.close()]);
    console.log(table(all ?? [], passed));
  }, 60_000);

  it('is complete, and most cases are tested', () => {
    expect(all?.length).toBeGreaterThanOrEqual(327);
    expect(cases.length).toBeGreaterThanOrEqual(170);
  });

  it.each(cases.map((one, index) => [one.id, one, index] as const))('%s', async (_, one, index) => {
    const name = methodOf(one) ?? '';
    bad.always(respondWith(one));
    bad.always(name === 'eth_getBlockByNumber' ? respondWith(one) : undefined, 'eth_getBlockByNumber');
    if (name !== 'eth_call')
      bad.always(one.expected.needs === undefined ? undefined : respondWithPayload(one), 'eth_call');
    const request = (network: string): Promise<JsonRpcResponse> => gateway.call(network, name, paramsOf(name, one));
    const alone = await request(`alone-${index}`);
    if (one.expected.action === 'failover') {
      await checkFailover(one, index, alone);
    } else {
      checkAnswer(one, alone);
      if (one.expected.error !== undefined) expect(JSON.stringify(alone.error?.data ?? '0x')).toMatch(/^"0x/);
      await checkWithoutFollowUp(one, request, index);
    }
    passed.add(one.id);
  });

  async function checkFailover(
    { expected, upstream_response: body, method }: Case,
    index: number,
    alone: JsonRpcResponse,
  ) {
    const counted = (await readMetrics(gateway.address)).samples.filter(
      ({ name, labels }) => labels['network'] === `alone-${index}` && /unusable|attempts/.test(name),
    );
    const seen = counted.map(({ labels }) => labels['class'] ?? labels['outcome']);
    const possible = classes[expected.class ?? ''] ?? [];
    expect(
      seen.some((one) => one !== undefined && possible.includes(one)),
      `counted: ${seen.join()}`,
    ).toBe(true);
    checkExhausted(expected, body, alone);

    const name = methodOf({ method }) ?? '';
    const result = fetchResult(name);
    good.response(name, result);
    const elsewhere = await gateway.call(`pair-${index}`, name, paramsOf(name, { upstream_response: {} } as Case));
    expect(elsewhere).toMatchObject({ jsonrpc: '2.0', id: 1, result });
  }

  /** The same without a follow-up: the fallback of the catalogue. */
  async function checkWithoutFollowUp(
    one: Case,
    request: (network: string) => Promise<JsonRpcResponse>,
    index: number,
  ) {
    if (one.expected.needs === undefined) return;
    bad.always(undefined, 'eth_call');
    const { fallback } = one.expected;
    const again = await request(`pair-${index}`);
    expect(again.error).toEqual(fallback ?? one.expected.error);
  }
});

function checkAnswer({ expected, upstream_response: body }: Case, response: JsonRpcResponse): void {
  if (expected.error !== undefined) {
    expect(response.error).toEqual(expected.error);
  } else if (expected.action === 'pass_result' || 'result' in expected) {
    expect(response.error).toBeUndefined();
    expect(response.result).toEqual(expected.result === undefined ? (body as JsonRpcResponse).result : expected.result);
  } else {
    checkFields(response, (body as { result: Readonly<Record<string, unknown>> }).result, expected);
  }
}

function checkFields({ result }: JsonRpcResponse, given: Readonly<Record<string, unknown>>, expected: Expected): void {
  const fields = result as Readonly<Record<string, unknown>>;
  for (const [name, value] of Object.entries(expected.result_patch ?? {})) {
    const isDeleted = typeof value === 'object' && value !== null && '$delete' in value;
    if (isDeleted) expect(fields, name).not.toHaveProperty(name);
    else expect(fields[name], name).toEqual(value);
  }
  for (const name of expected.keep ?? []) expect(fields[name], name).toEqual(given[name]);
}

/** The response if all upstreams fail so. Design §3 takes precedence over the catalogue. */
function checkExhausted({ if_exhausted: said }: Expected, body: unknown, { result, error }: JsonRpcResponse): void {
  if (said?.startsWith('result null') === true) {
    expect({ result, error }).toEqual({ result: null, error: undefined });
    return;
  }
  if (result === null) return; // a lookup without a result at any upstream
  expect(result).toBeUndefined();
  const given = (body as { error?: { code?: number; message?: string } }).error;
  const words = given?.message;
  // For a missing block, the node's code and message are passed on.
  if (![-32_601, -32_005, -32_603, -32_000].includes(error?.code ?? 0)) {
    expect(error).toMatchObject({ code: given?.code, message: words });
  }
  if (said?.includes('-32005') === true) expect(error).toMatchObject({ code: -32_005, message: words });
  else if (said?.includes('-32601') === true) expect(error?.code).toBe(-32_601);
  else if (said?.startsWith('pass') === true) expect(error?.message).toContain(words);
}

/** Responds with the case's response. */
function respondWith({ upstream_response: body, http_status: status }: Case): Behaviour {
  const type = typeof body === 'string' ? 'text/html' : 'application/json';
  return ({ id, response }) => void response.writeHead(status ?? 200, { 'content-type': type }).end(bodyOf(body, id));
}

/** Responds to eth_call with the payload that the estimate omits, like ganache-cli 6. */
function respondWithPayload({ expected }: Case): Behaviour {
  const data = { [`0x${'cd'.repeat(32)}`]: { error: 'revert', return: expected.error?.data }, name: 'c' };
  const error = { code: -32_000, message: 'VM Exception while processing transaction: revert', data };
  return ({ id, response }) => void response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
}

function fetchResult(method: string): unknown {
  if (method === 'eth_getStorageAt') return `0x${'0'.repeat(63)}1`;
  if (method === 'eth_getLogs') return [];
  if (method === 'eth_getProof') return { address: `0x${'11'.repeat(20)}`, accountProof: [], storageProof: [] };
  if (/^eth_get(?:Block|Uncle|Transaction)/.test(method)) return null;
  if (method === 'zks_estimateFee') {
    return { gas_limit: '0x1', max_fee_per_gas: '0x2', max_priority_fee_per_gas: '0x0', gas_per_pubdata_limit: '0x3' };
  }
  return '0x5208';
}

/** Passed cases of each kind, and the excluded ones with their reasons. */
function table(every: readonly Case[], passed: ReadonlySet<string>): string {
  const kinds = [...new Set(every.map(({ kind }) => kind))];
  const rows = kinds.map((kind) => {
    const ofKind = every.filter((one) => one.kind === kind);
    const tried = ofKind.filter((one) => reasonToLeaveOut(one) === undefined);
    const good = tried.filter(({ id }) => passed.has(id));
    return `  ${kind.padEnd(16)} ${good.length} of ${tried.length} tried passed, ${ofKind.length} in the catalogue`;
  });
  const left = new Map<string, string[]>();
  for (const one of every) {
    const reason = reasonToLeaveOut(one);
    if (reason !== undefined) left.set(reason, [...(left.get(reason) ?? []), one.id]);
  }
  const lines = [...left].map(([reason, ids]) => `  ${reason} (${ids.length}): ${ids.join(', ')}`);
  return ['The catalogue of node variants, end to end:', ...rows, 'Excluded:', ...lines].join('\n');
}
