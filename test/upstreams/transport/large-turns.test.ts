import { expect, it, onTestFinished, vi } from 'vitest';
import { Account } from '../../../gateway/admission/account.ts';
import type { Gate } from '../../../gateway/admission/gate.ts';
import { clock } from '../../../gateway/clock/clock.ts';
import { ownLimits } from '../../support/own-limits.ts';
import { openLog } from '../../../gateway/config/log.ts';
import { Metrics } from '../../../gateway/metrics/metrics.ts';
import { Deadlines } from '../../../gateway/admission/deadlines.ts';
import { Cancellation } from '../../../gateway/upstreams/transport/cancellation.ts';
import { HttpExchange, type HttpResponse } from '../../../gateway/upstreams/transport/http-exchange.ts';
import { HttpUpstream } from '../../../gateway/upstreams/transport/http-upstream.ts';
import { largeTurns, TURN_OVER_BYTES, type TurnTaker } from '../../../gateway/upstreams/transport/large-turn.ts';
import { TimedOut } from '../../../gateway/upstreams/transport/upstream-response.ts';
import { Upstream, type SendOptions } from '../../../gateway/upstreams/upstream.ts';
import { configOf } from '../../network-files/load.ts';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode } from '../../support/fake-node.ts';
import { simulateTime } from '../../support/simulate-time.ts';

const simulated = simulateTime();
const DEADLINE_MS = 5_000;

function begin(turns: Gate, owner: Account, deadlines = new Deadlines()) {
  const [controller, resolve, reject] = [
    { aborted: false, paused: false, reason: null, pause: vi.fn(), resume: vi.fn(), abort: vi.fn() },
    vi.fn<(response: HttpResponse) => void>(),
    vi.fn<(reason: unknown) => void>(),
  ];
  const cancellation = new Cancellation(owner);
  const turnTaker: TurnTaker = { turns };
  const options = { deadline: clock.now() + DEADLINE_MS, turnTaker };
  const bounds = { responseMaxBytes: Infinity };
  const exchange = new HttpExchange(resolve, reject, options, bounds, deadlines, cancellation);
  controller.abort.mockImplementation((reason: Error) => {
    exchange.onResponseError(controller, reason);
  });
  exchange.onRequestStart(controller);
  exchange.onResponseStart(controller, 200, {});
  return { exchange, controller, turnTaker, cancellation, resolve, reject };
}

const large = Buffer.alloc(TURN_OVER_BYTES + 1);
const small = Buffer.alloc(TURN_OVER_BYTES);

it('a large response waits, unread, until the earlier one of its owner is checked', async () => {
  const time = simulated();
  const turns = largeTurns();
  const [one, other] = [new Account('one'), new Account('other')];
  const [first, second, third, fourth] = [one, one, one, other].map((owner) => begin(turns, owner));
  const receive = (response: typeof first, chunk = large): void => {
    response?.exchange.onResponseData(response.controller, chunk);
  };
  receive(first);
  receive(second, small);
  receive(third);
  receive(fourth);
  const paused = (): number[] =>
    [first, second, third, fourth].map(
      (it) => (it?.controller.pause.mock.calls.length ?? 0) - (it?.controller.resume.mock.calls.length ?? 0),
    );
  expect(paused()).toEqual([0, 0, 1, 0]);
  receive(second, Buffer.alloc(1));
  expect(paused()).toEqual([0, 1, 1, 0]);
  first?.exchange.onResponseEnd();
  await time.advance(1);
  expect(paused()).toEqual([0, 1, 1, 0]);
  first?.turnTaker.largeTurn?.end();
  await time.advance(1);
  expect(paused()).toEqual([0, 1, 0, 0]);
  // Its caller leaves: the next one waits for it no longer.
  third?.cancellation.cancel();
  third?.turnTaker.largeTurn?.end();
  await time.advance(1);
  expect(paused()).toEqual([0, 0, 0, 0]);
});

it('a large response that waits ends at the deadline of its call, which is no failure of the upstream', async () => {
  const time = simulated();
  const turns = largeTurns();
  const [owner, deadlines] = [new Account('one'), new Deadlines()];
  const [first, second] = [begin(turns, owner), begin(turns, owner, deadlines)];
  for (const { exchange, controller } of [first, second]) exchange.onResponseData(controller, large);
  await time.advance(DEADLINE_MS + 10);
  const reason = second.reject.mock.calls[0]?.[0];
  expect(reason).toBeInstanceOf(TimedOut);
  expect(reason).toMatchObject({ isCallerTimeout: true });
  second.turnTaker.largeTurn?.end();
  first.turnTaker.largeTurn?.end();
  await time.advance(1);
  expect(second.controller.resume).not.toHaveBeenCalled();
  const next = begin(turns, owner);
  next.exchange.onResponseData(next.controller, large);
  expect(next.controller.pause).not.toHaveBeenCalled();
});

it('large responses of one owner arrive one after the other, and whole', async () => {
  const responses = { eth_getCode: `0x${'00'.repeat(8_000_000)}`, eth_chainId: '0x7' };
  const node = await startFakeNode({ chainId: 7, responses });
  const upstream = new HttpUpstream({ url: node.url, headers: {}, connections: 8, responseMaxBytes: 20_000_000 });
  onTestFinished(async () => {
    await upstream.close();
    await node.close();
  });
  const turns = largeTurns();
  const owner = new Account('one');
  const lengths: number[] = [];
  const send = async (method: string, of = owner): Promise<() => void> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] });
    const turnTaker: TurnTaker = { turns };
    const sent = { body, deadline: Infinity, turnTaker };
    const { length } = (await upstream.post(sent, new Cancellation(of))).body;
    if (of === owner && length > TURN_OVER_BYTES) lengths.push(length);
    return () => turnTaker.largeTurn?.end();
  };
  const all = Array.from({ length: 4 }, () => send('eth_getCode'));
  const ends: (() => void)[] = [];
  for (const one of all) void one.then((end) => ends.push(end));
  await send('eth_getCode', new Account('other'));
  await eventually(() => lengths.length > 0);
  for (let turn = 1; turn <= all.length; turn++) {
    for (let call = 0; call < 20; call++) await send('eth_chainId');
    expect(lengths).toHaveLength(turn);
    ends[turn - 1]?.();
    if (turn < all.length) await eventually(() => lengths.length > turn);
  }
  expect(Math.min(...lengths)).toBeGreaterThan(16_000_000);
});

it('a response that receives more bytes while it waits takes one turn', async () => {
  const time = simulated();
  const turns = largeTurns();
  const owner = new Account('one');
  const [first, second, third] = [begin(turns, owner), begin(turns, owner), begin(turns, owner)];
  first.exchange.onResponseData(first.controller, large);
  second.exchange.onResponseData(second.controller, large);
  second.exchange.onResponseData(second.controller, Buffer.alloc(1));
  first.turnTaker.largeTurn?.end();
  await time.advance(1);
  second.turnTaker.largeTurn?.end();
  third.exchange.onResponseData(third.controller, large);
  expect(third.controller.pause).not.toHaveBeenCalled();
});

it('the wait for a turn is no time of the upstream', async () => {
  const time = simulated();
  const node = await startFakeNode({ chainId: 7, responses: { eth_getCode: `0x${'00'.repeat(TURN_OVER_BYTES)}` } });
  const [config] = configOf('test', { chainId: 7, upstreams: [{ name: 'one', url: node.url }] }).upstreams;
  if (config === undefined) throw new Error('the network has no upstream');
  const metrics = new Metrics().upstreamMetrics('test', 'one');
  const durations = vi.spyOn(metrics, 'succeeded');
  const upstream = new Upstream(config, config, {
    chainId: 7,
    transport: new HttpUpstream({ url: node.url, connections: 2, headers: {}, responseMaxBytes: 10_000_000 }),
    defaultTimeoutMs: 20_000,
    shared: ownLimits(),
    metrics,
    log: openLog('silent'),
  });
  onTestFinished(async () => {
    await upstream.close();
    await node.close();
  });
  const owner = new Account('one');
  const send = (): SendOptions => {
    const cancellation = new Cancellation(owner);
    const options: SendOptions = { deadline: clock.now() + 20_000, cancellation, turns: upstream.largeTurns };
    void upstream.send('eth_getCode', '["0x1","latest"]', options);
    return options;
  };
  /** Time stands still while real bytes arrive. */
  const untilSucceeded = (count: number) =>
    eventually(async () => {
      await time.advance(0);
      return durations.mock.calls.length === count;
    });
  const first = send();
  await untilSucceeded(1);
  const second = send();
  await eventually(() => second.largeTurn !== undefined);
  await time.advance(1_500);
  first.largeTurn?.end();
  await untilSucceeded(2);
  expect(second.largeTurn?.waitedMs).toBe(1_500);
  expect(durations.mock.calls).toEqual([[0], [0]]);
});
