import { expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { Call } from '../../gateway/call/call.ts';
import { awaitNewer } from '../../gateway/call/await-newer.ts';
import type { Router } from '../../gateway/call/router.ts';
import type { ChainPoller } from '../../gateway/chain/poller.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import type { Upstream } from '../../gateway/upstreams/upstream.ts';
import { ScriptedChain } from '../chain/scripted-chain.ts';
import { withHeads } from '../chain/with-heads.ts';
import { scenarioPause } from '../support/scenario-pause.ts';

const spec = methods.find(({ name }) => name === 'eth_getBalance');

function callIn(chain: ChainPoller<Upstream>, all: readonly Upstream[]): Call {
  if (spec === undefined) throw new Error('there is no such method');
  return new Call({ all, chain } as unknown as Router, spec, [], clock.now() + 9_000);
}

it('an upstream that lags is polled before a call fails, also if it just returned a block to a caller', async () => {
  const chain = new ScriptedChain();
  const slow = { usedMinMs: 60_000, usedMaxMs: 60_000, pauseMs: 60_000, idleAfterMs: 600_000 };
  const { poller, upstreams, nodes } = await withHeads([chain, chain.copy()], slow);
  const [newest, lagging] = upstreams as [Upstream, Upstream];
  chain.mine(3);
  poller.markUsed(clock.now());
  await Promise.all(upstreams.map((upstream) => poller.poll(upstream)));
  if (nodes[1] === undefined) throw new Error('there is no second node');
  poller.served(newest, { number: 103n }, clock.now());
  nodes[1].chain = chain.copy();
  poller.served(lagging, { number: 101n }, clock.now());
  expect(poller.view.headOf(lagging)?.number).toBe(101n);
  expect(await awaitNewer(callIn(poller, upstreams))).toBe(true);
  expect(poller.view.headOf(lagging)?.number).toBe(103n);
});

it('an upstream that failed before is polled and asked again, if its null needs confirmation and no other is left', async () => {
  const chain = new ScriptedChain();
  const { poller, upstreams, nodes } = await withHeads([chain], { usedMinMs: 60_000, usedMaxMs: 60_000 });
  const [upstream] = upstreams as [Upstream];
  poller.markUsed(clock.now());
  await poller.poll(upstream);
  upstream.isHeadUncertain = true;
  const call = callIn(poller, upstreams);
  call.tried = [upstream];
  const response = { kind: 'result', result: null } as const;
  call.unconfirmed = { response, isEvidence: false, blocksAbove: 'none' };
  const polls = nodes[0]?.polls() ?? 0;
  expect(await awaitNewer(call)).toBe(true);
  expect([nodes[0]?.polls(), upstream.isHeadUncertain, call.tried]).toEqual([polls + 1, false, []]);
});

it('an upstream that got the block during the last attempt is asked again without a poll', async () => {
  const chain = new ScriptedChain();
  const { poller, upstreams, nodes } = await withHeads([chain], { usedMinMs: 60_000, usedMaxMs: 60_000 });
  const [upstream] = upstreams as [Upstream];
  poller.markUsed(clock.now());
  await poller.poll(upstream);
  const failedCall = (): Call => {
    const call = callIn(poller, upstreams);
    call.tried = [upstream];
    call.sentAt = sentAt;
    call.failed = [{ final: false, failure: 'no-block', response: undefined }];
    return call;
  };
  const sentAt = clock.now();
  const polls = nodes[0]?.polls() ?? 0;
  expect(await awaitNewer(failedCall())).toBe(false);
  // The attempt takes time: without CPU, that of the gateway may stand still.
  await scenarioPause(10);
  poller.served(upstream, { number: 101n }, clock.now());
  const call = failedCall();
  expect(await awaitNewer(call)).toBe(true);
  expect([nodes[0]?.polls(), call.tried]).toEqual([polls, []]);
});
