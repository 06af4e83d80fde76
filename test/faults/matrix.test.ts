import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../auth/eventually.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { startGateway, type JsonRpcResponse, type TestGateway } from '../support/gateway.ts';
import { shiftClock } from '../routing/with-nodes.ts';
import { CHAIN_ID, goodAnswers, head, type BadUpstream } from './bad-upstream.ts';
import { faults, storage, type Asked, type Fault } from './faults.ts';
import { rowOf, writeTable, type Row } from './fault-table.ts';

/** What a silent upstream gets for one attempt, and what nobody on a loaded machine takes longer for. */
const SILENT_MS = 250;
const PATIENT_MS = 10_000;
/** An answer in time: a silent attempt, and what a loaded machine takes besides. */
const IN_TIME_MS = SILENT_MS + 3_000;
/** Until heads are looked at again. */
const LOOK_AGAIN_MS = 16_000;

interface Case {
  readonly fault: Fault;
  readonly slug: string;
  readonly pair: BadUpstream;
  readonly alone: BadUpstream;
  readonly good: FakeNode;
}

let cases: Case[];
let gateway: TestGateway;
const rows: Row[] = [];

// One gateway, and two networks for each fault: the bad upstream beside a good one, and by itself.
beforeAll(async () => {
  cases = await Promise.all(
    faults.map(async (fault, index) => {
      const [pair, alone] = await Promise.all([fault.open(), fault.open()]);
      if (fault.fromStart === true) await Promise.all([pair.fail(), alone.fail()]);
      const good = await startFakeNode({ chainId: CHAIN_ID, responses: goodAnswers });
      return { fault, slug: `fault-${index}`, pair, alone, good };
    }),
  );
  const networks = cases.flatMap<[string, object]>(({ fault, slug, pair, alone, good }) => {
    const timeoutMs = fault.isSilent === true ? SILENT_MS : PATIENT_MS;
    const second = { name: 'good', url: good.url, timeoutMs: PATIENT_MS };
    const bad = ({ upstream }: BadUpstream) => ({ name: 'bad', ...upstream, timeoutMs });
    return [
      [slug, { name: fault.name, chainId: CHAIN_ID, upstreams: [bad(pair), second] }],
      [`${slug}-alone`, { name: fault.name, chainId: CHAIN_ID, upstreams: [bad(alone)] }],
    ];
  });
  gateway = await startGateway(Object.fromEntries(networks), { UPSTREAM_RESPONSE_MAX_BYTES: '1000000' });
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all(cases.flatMap(({ pair, alone, good }) => [pair.close(), alone.close(), good.close()]));
  const file = process.env['FAULTS_TABLE'];
  if (file !== undefined) writeTable(file, 'upstreams', rows.map(rowOf));
});

interface Told {
  readonly status: number;
  readonly response: JsonRpcResponse;
  readonly ms: number;
}

async function ask(slug: string, { method, params }: Asked): Promise<Told> {
  const began = performance.now();
  const response = await gateway.post(slug, JSON.stringify({ jsonrpc: '2.0', id: slug, method, params }));
  const rpcResponse = (await response.json()) as JsonRpcResponse;
  expect(rpcResponse.id).toBe(slug);
  return { status: response.status, response: rpcResponse, ms: performance.now() - began };
}

/** Lets it answer once, so that connections are there and heads are seen, and then lets it fail. */
async function goBad(fault: Fault, slug: string, bad: BadUpstream, good?: FakeNode): Promise<void> {
  expect(await ask(slug, storage)).toMatchObject({ status: 200, response: { result: storage.result } });
  await headsAreSeen(bad, good, 1);
  await bad.fail();
  if (fault.standsStill === true) {
    const clock = shiftClock();
    good?.response('eth_getBlockByNumber', head(0x20));
    clock.forward(LOOK_AGAIN_MS);
    await ask(slug, storage);
    await headsAreSeen(bad, good, 2);
    await eventually(async () => (await looks(slug)) === (good === undefined ? 2 : 4), 3_000);
  }
  // What was closed or read is known on both sides.
  await sleep(20);
}

/** How often the gateway has heard of heads of a network's upstreams. */
async function looks(slug: string): Promise<number> {
  const { samples } = await readMetrics(gateway.address);
  const own = samples.filter(({ name, labels }) => name === 'gatehouse_head_polls_total' && labels['network'] === slug);
  return own.reduce((sum, { value }) => sum + value, 0);
}

async function headsAreSeen(bad: BadUpstream, good: FakeNode | undefined, times: number): Promise<void> {
  const method = 'eth_getBlockByNumber';
  const areSeen = (): boolean => bad.received(method) >= times && (good?.callsOf(method).length ?? times) >= times;
  await eventually(areSeen, 3_000);
}

describe.each(faults.map((fault, index) => ({ ...fault, index })))('$name', ({ index, ...fault }) => {
  const requested = fault.asks ?? storage;
  let times = { ms: NaN, nextMs: NaN };

  it('beside a good upstream: the right answer, in time', async () => {
    const { slug, pair, good } = cases[index] as Case;
    if (fault.fromStart !== true) await goBad(fault, slug, pair, good);
    const before = { bad: pair.received(requested.method), good: good.callsOf(requested.method).length };
    const first = await ask(slug, requested);
    expect(first).toMatchObject({ status: 200, response: { result: requested.result } });
    expect(first.ms).toBeLessThan(IN_TIME_MS);
    const received = pair.received(requested.method) - before.bad;
    const second = good.callsOf(requested.method).length - before.good;
    const wasFound = fault.mayBeFound === true && received === 0;
    expect({ received: wasFound ? fault.received[0] : received, second }).toEqual({
      received: fault.received[0],
      second: fault.isHarmless === true ? 0 : 1,
    });
    const next = await ask(slug, requested);
    expect(next).toMatchObject({ status: 200, response: { result: requested.result } });
    times = { ms: first.ms, nextMs: next.ms };
  });

  it('by itself: what the contract says, in time', async () => {
    const { slug, alone } = cases[index] as Case;
    if (fault.fromStart !== true) await goBad(fault, `${slug}-alone`, alone);
    const before = alone.received(requested.method);
    const { status, response, ms } = await ask(`${slug}-alone`, requested);
    const { error, result } = fault.alone;
    expect({ status, error: response.error, result: response.result }).toEqual({
      status: fault.alone.status,
      error,
      result,
    });
    expect(ms).toBeLessThan(IN_TIME_MS);
    const received = alone.received(requested.method) - before;
    const wasFound = fault.mayBeFound === true && received === 0;
    expect(wasFound ? fault.received[1] : received).toBe(fault.received[1]);
    rows.push({ fault, ...times, aloneMs: ms });
  });
});
