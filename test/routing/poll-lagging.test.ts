import { expect, it } from 'vitest';
import { blockInResult } from '../../gateway/cache/block-in-result.ts';
import { Call } from '../../gateway/call/call.ts';
import { pollLagging } from '../../gateway/call/may-still-arrive.ts';
import type { Router } from '../../gateway/call/router.ts';
import type { NetworkHeads } from '../../gateway/heads/network-heads.ts';
import { MonotonicReads } from '../../gateway/routing/monotonic-reads.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import type { Upstream } from '../../gateway/upstreams/upstream.ts';
import { ScriptedChain } from '../heads/scripted-chain.ts';
import { withHeads } from '../heads/with-heads.ts';

const spec = methods.find(({ name }) => name === 'eth_getBalance');

function callIn(heads: NetworkHeads, all: readonly Upstream[]): Call {
  if (spec === undefined) throw new Error('there is no such method');
  const monotonic = new MonotonicReads<Upstream>(heads, blockInResult);
  return new Call({ all, heads, monotonic } as unknown as Router, spec, [], performance.now() + 9_000);
}

it('an upstream that lags is polled before a call fails, also if it just returned a block to a caller', async () => {
  const chain = new ScriptedChain();
  const slow = { usedMinMs: 60_000, usedMaxMs: 60_000, pauseMs: 60_000, idleAfterMs: 600_000 };
  const { heads, upstreams, nodes } = await withHeads([chain, chain.copy()], slow);
  const [newest, lagging] = upstreams as [Upstream, Upstream];
  chain.mine(3);
  heads.markUsed(performance.now());
  await Promise.all(upstreams.map((upstream) => heads.poll(upstream)));
  if (nodes[1] === undefined) throw new Error('there is no second node');
  heads.recordServed(newest, { number: 103n }, performance.now());
  const poll = (): Promise<boolean> => pollLagging(callIn(heads, upstreams));
  nodes[1].chain = chain.copy();
  heads.recordServed(lagging, { number: 101n }, performance.now());
  expect(heads.headOf(lagging)?.number).toBe(101n);
  expect(await poll()).toBe(true);
  expect(heads.headOf(lagging)?.number).toBe(103n);
});

it('an upstream that failed before is polled and asked again, if its null needs confirmation and no other is left', async () => {
  const chain = new ScriptedChain();
  const { heads, upstreams, nodes } = await withHeads([chain], { usedMinMs: 60_000, usedMaxMs: 60_000 });
  const [upstream] = upstreams as [Upstream];
  heads.markUsed(performance.now());
  await heads.poll(upstream);
  upstream.isHeadUncertain = true;
  const call = callIn(heads, upstreams);
  call.tried = [upstream];
  call.unconfirmed = { kind: 'result', result: null };
  const polls = nodes[0]?.polls() ?? 0;
  expect(await pollLagging(call)).toBe(true);
  expect([nodes[0]?.polls(), upstream.isHeadUncertain, call.tried]).toEqual([polls + 1, false, []]);
});

it('an upstream that got the block during the last attempt is asked again without a poll', async () => {
  const chain = new ScriptedChain();
  const { heads, upstreams, nodes } = await withHeads([chain], { usedMinMs: 60_000, usedMaxMs: 60_000 });
  const [upstream] = upstreams as [Upstream];
  heads.markUsed(performance.now());
  await heads.poll(upstream);
  const call = callIn(heads, upstreams);
  call.tried = [upstream];
  call.sentAt = performance.now();
  call.failed = [{ final: false, failure: 'no-block', response: undefined }];
  const polls = nodes[0]?.polls() ?? 0;
  expect(await pollLagging(call)).toBe(false);
  call.hasPolledHeads = false;
  heads.recordServed(upstream, { number: 101n }, performance.now());
  expect(await pollLagging(call)).toBe(true);
  expect([nodes[0]?.polls(), call.tried]).toEqual([polls, []]);
});
