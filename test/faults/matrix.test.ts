import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { withoutTime } from '../support/elastic-clock.ts';
import { eventually } from '../support/eventually.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { startGateway, type JsonRpcResponse, type TestGateway } from '../support/gateway.ts';
import { shiftClock } from '../routing/with-nodes.ts';
import { CHAIN_ID, goodResponses, head, type BadUpstream } from './bad-upstream.ts';
import { faults, storage, type ExpectedCall, type Fault } from './faults.ts';
import { rowOf, writeTable, type FaultRow } from './fault-table.ts';

/** The attempt timeout of silent upstreams, and of all others: a call that waits for it ends before, by its deadline. */
const SILENT_TIMEOUT_MS = 250;
const TIMEOUT_MS = 20_000;
/** Time longer than the interval between polls of a head. */
const POLL_AGAIN_MS = 16_000;

interface Case {
  readonly fault: Fault;
  readonly slug: string;
  readonly pair: BadUpstream;
  readonly alone: BadUpstream;
  readonly good: FakeNode;
}

let cases: Case[];
/** Each serves some of the cases: a test reads its whole metrics page several times. */
let gateways: TestGateway[];
const GATEWAYS = 8;
const rows: FaultRow[] = [];

// Two networks for each fault: the failing upstream with a working one, and alone.
beforeAll(async () => {
  cases = await Promise.all(
    faults.map(async (fault, index) => {
      const [pair, alone] = await Promise.all([fault.open(), fault.open()]);
      if (fault.failsFromStart === true) await Promise.all([pair.fail(), alone.fail()]);
      const good = await startFakeNode({ chainId: CHAIN_ID, responses: goodResponses });
      return { fault, slug: `fault-${index}`, pair, alone, good };
    }),
  );
  const networksOf = ({ fault, slug, pair, alone, good }: Case): [string, object][] => {
    const timeoutMs = fault.isSilent === true ? SILENT_TIMEOUT_MS : TIMEOUT_MS;
    const second = { name: 'good', url: good.url, failsafe: { timeoutMs: TIMEOUT_MS } };
    const bad = ({ upstream }: BadUpstream) => ({ name: 'bad', ...upstream, failsafe: { timeoutMs } });
    return [
      [slug, { name: fault.name, chainId: CHAIN_ID, upstreams: [bad(pair), second] }],
      [`${slug}-alone`, { name: fault.name, chainId: CHAIN_ID, upstreams: [bad(alone)] }],
    ];
  };
  gateways = await Promise.all(
    Array.from({ length: GATEWAYS }, (_, at) => {
      const own = cases.filter((__, index) => index % GATEWAYS === at);
      return startGateway(Object.fromEntries(own.flatMap(networksOf)), { upstreamResponseMaxBytes: '1000000' });
    }),
  );
});
afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await Promise.all(cases.flatMap(({ pair, alone, good }) => [pair.close(), alone.close(), good.close()]));
  if (process.env['WRITE_DOCS'] === 'yes') writeTable('docs/measured/faults.md', 'upstreams', rows.map(rowOf));
});

/** The gateway with this network. */
function gatewayOf(slug: string): TestGateway {
  return gateways[Number(slug.split('-')[1]) % GATEWAYS] as TestGateway;
}

interface Received {
  readonly status: number;
  readonly response: JsonRpcResponse;
  readonly ms: number;
}

async function send(slug: string, { method, params }: ExpectedCall): Promise<Received> {
  const startedAt = clock.now();
  const httpResponse = await gatewayOf(slug).post(slug, JSON.stringify({ jsonrpc: '2.0', id: slug, method, params }));
  const response = (await httpResponse.json()) as JsonRpcResponse;
  expect(response.id).toBe(slug);
  return { status: httpResponse.status, response, ms: clock.now() - startedAt };
}

/** Sends a call, so that connections are open and heads are polled, and then makes the upstream fail. */
async function fail(fault: Fault, slug: string, bad: BadUpstream, good?: FakeNode): Promise<void> {
  // On a loaded machine, the first response may come after the timeout.
  await eventually(async () => (await send(slug, storage)).response.result === storage.result);
  await untilPolled(slug, bad, good, 1);
  await bad.fail();
  if (fault.hasStoppedHead === true) {
    const time = shiftClock();
    good?.response('eth_getBlockByNumber', head(0x20));
    time.forward(POLL_AGAIN_MS);
    await send(slug, storage);
    await untilPolled(slug, bad, good, 2);
  }
}

/** The number of completed head polls of a network's upstreams. */
async function pollsOf(slug: string): Promise<number> {
  const { samplesOf } = await readMetrics(gatewayOf(slug).address);
  const own = samplesOf('gatehouse_head_polls_total').filter(({ labels }) => labels['network'] === slug);
  return own.reduce((sum, { value }) => sum + value, 0);
}

/** Waits until the gateway has the responses to this many polls of each head. */
async function untilPolled(slug: string, bad: BadUpstream, good: FakeNode | undefined, times: number): Promise<void> {
  const method = 'eth_getBlockByNumber';
  await eventually(() => bad.received(method) >= times && (good?.callsOf(method).length ?? times) >= times);
  await eventually(async () => (await pollsOf(slug)) >= (good === undefined ? times : 2 * times));
}

/** Whether a poll may have failed in place of an attempt: on the same connection, or on a loaded machine, where polls are due sooner. */
async function mayHaveFailedPoll(fault: Fault, slug: string): Promise<boolean> {
  if (fault.mayFailPoll === true || fault.isSilent === true) return true;
  const { samplesOf } = await readMetrics(gatewayOf(slug).address);
  return samplesOf('gatehouse_head_polls_total').some(
    ({ labels, value }) =>
      labels['network'] === slug && labels['upstream'] === 'bad' && labels['outcome'] !== 'response' && value > 0,
  );
}

describe.each(faults.map((fault, index) => ({ ...fault, index })))('$name', ({ index, ...fault }) => {
  const call = fault.call ?? storage;
  // The page needs the real times.
  const waits = fault.isSilent === true || process.env['WRITE_DOCS'] === 'yes';
  /** Sends the call. A fault that is not silent ends it while no timer fires, so that none waits for a deadline. */
  const sendInTime = (slug: string): Promise<Received> =>
    waits ? send(slug, call) : withoutTime(() => send(slug, call));
  let times = { ms: NaN, nextMs: NaN };

  it('with a working upstream: the correct response, in time', async () => {
    const { slug, pair, good } = cases[index] as Case;
    if (fault.failsFromStart !== true) await fail(fault, slug, pair, good);
    const before = { bad: pair.received(call.method), good: good.callsOf(call.method).length };
    const first = await sendInTime(slug);
    expect(first).toMatchObject({ status: 200, response: { result: call.result } });
    const received = pair.received(call.method) - before.bad;
    const second = good.callsOf(call.method).length - before.good;
    const hasFailedPoll = received === 0 && (await mayHaveFailedPoll(fault, slug));
    expect({ received: hasFailedPoll ? fault.received[0] : received, second }).toEqual({
      received: fault.received[0],
      second: fault.isHarmless === true && !hasFailedPoll ? 0 : 1,
    });
    const next = await sendInTime(slug);
    expect(next).toMatchObject({ status: 200, response: { result: call.result } });
    times = { ms: first.ms, nextMs: next.ms };
  });

  it('alone: the response that the contract requires, in time', async () => {
    const { slug, alone } = cases[index] as Case;
    if (fault.failsFromStart !== true) await fail(fault, `${slug}-alone`, alone);
    const before = alone.received(call.method);
    const { status, response, ms } = await sendInTime(`${slug}-alone`);
    const { error, result } = fault.alone;
    expect({ status, error: response.error, result: response.result }).toEqual({
      status: fault.alone.status,
      error,
      result,
    });
    const received = alone.received(call.method) - before;
    const hasFailedPoll = received < fault.received[1] && (await mayHaveFailedPoll(fault, `${slug}-alone`));
    expect(hasFailedPoll ? fault.received[1] : received).toBe(fault.received[1]);
    rows.push({ fault, ...times, aloneMs: ms });
  });
});
