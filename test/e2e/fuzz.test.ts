import fc from 'fast-check';
import { Pool } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { breachOf, type ContractOptions, type FuzzResponse } from './fuzz-contract.ts';
import { callText, fuzzRequests, goodCalls, type FuzzRequest } from './fuzz-requests.ts';
import { sendFuzzRequest } from './send-fuzz-request.ts';
import { eventually } from '../support/eventually.ts';
import { scenarioPause } from '../support/scenario-pause.ts';

/** Another seed, another thousand requests: `FUZZ_SEED=7 npx vitest run test/e2e/fuzz`. For minutes: `npm run test:all -- fuzz`. */
const seed = Number(process.env['FUZZ_SEED'] ?? 1);
const count = 1_000;
const atOnce = 16;

let anvil: Anvil;
let gateway: TestGateway;

beforeAll(async () => {
  anvil = await startAnvil({ chainId: 1337 });
  gateway = await startGateway({ local: network(1337, [anvil.url]) }, { UPSTREAM_CONNECTIONS: '8' });
});
afterAll(async () => {
  await gateway.stop();
  await anvil.stop();
});

it('the responses to a thousand valid and invalid calls follow the contract, and the process stays healthy', async () => {
  const path = `/local/v3/${gateway.key}`;
  const { url, chain } = anvil;
  const secrets = [gateway.key, url, new URL(url).host, packageRoot, gateway.dataDir];
  const options: ContractOptions = { base: '/local/v3/', key: gateway.key, secrets };
  const requests = fc.sample(fuzzRequests(path, chain), { seed, numRuns: count });
  const good = goodCalls(chain).map(({ method, params }): FuzzRequest => {
    return { kind: 'good call', verb: 'POST', path, headers: {}, body: callText(method, params, '1'), chunked: false };
  });

  // Repeated until the maximum of connections to the node is open.
  const [one] = good;
  const others = Array.from({ length: 150 }, (_, position) =>
    callText('eth_getStorageAt', [chain.counter.address, `0x${position}`, 'latest'], '1'),
  );
  await sendAll(others.map((body) => ({ ...(one as FuzzRequest), body })));
  const responsesBefore = (await sendAll(good)).map(({ text }) => text);
  const socketsBefore = await socketsAtRest();

  const responses = await sendAll(requests);
  const breaches = requests.flatMap((request, index) => {
    const response = responses[index];
    const breach = response === undefined ? 'no response' : breachOf(request, response, options);
    return breach === undefined ? [] : [`${breach}\n  ${shown(request)}\n  ${response?.text.slice(0, 500) ?? ''}`];
  });
  expect(breaches).toEqual([]);
  expectMix(responses);

  expect((await sendAll(good)).map(({ text }) => text)).toEqual(responsesBefore);
  await eventually(() => openSockets() <= socketsBefore);
  const { value } = await readMetrics(gateway.address);
  expect(value('gatehouse_calls_in_flight', { network: 'local' })).toBe(0);
  expect(value('gatehouse_upstream_up', { upstream: 'node-0' })).toBe(1);
  expect(value('gatehouse_calls_total', { method: 'eth_chainId', outcome: 'internal-error' })).toBeUndefined();
}, 180_000);

/** Sends several requests at once over reused connections; responses are in the order of the requests. */
async function sendAll(requests: readonly FuzzRequest[]): Promise<FuzzResponse[]> {
  const pool = new Pool(gateway.address, { connections: atOnce });
  const responses: FuzzResponse[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < requests.length; index = next++) {
      responses[index] = await sendFuzzRequest(pool, requests[index] as FuzzRequest);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  await pool.close();
  return responses;
}

/** Every kind of response must occur, or the test would show little. */
function expectMix(responses: readonly FuzzResponse[]): void {
  const seen = new Map<string, number>();
  for (const { status, text } of responses) {
    const code = /"error":\{"code":(-?\d+)/.exec(text)?.[1] ?? 'none';
    for (const outcome of [`HTTP ${status}`, `code ${code}`]) seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
  }
  const statuses = [200, 204, 400, 401, 404, 405, 413, 415].map((status) => `HTTP ${status}`);
  const codes = ['none', 3, -32700, -32600, -32601, -32602, -32002].map((code) => `code ${code}`);
  for (const outcome of [...statuses, ...codes]) {
    expect([outcome, seen.get(outcome) ?? 0]).toEqual([outcome, expect.toSatisfy((times: number) => times >= 5)]);
  }
}

/** Number of sockets of this process, gateway and test together. */
function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length;
}

/** The same, once it is constant. */
async function socketsAtRest(): Promise<number> {
  let last = -1;
  await eventually(async () => {
    const before = last;
    await scenarioPause(200);
    last = openSockets();
    return last === before;
  });
  return last;
}

function shown({ kind, verb, path, body, chunked }: FuzzRequest): string {
  return `${kind}: ${verb} ${path} ${chunked ? 'in chunks ' : ''}${body.slice(0, 500)}${body.length > 500 ? '…' : ''}`;
}
