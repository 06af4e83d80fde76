import type { MethodSpec } from '../spec/method-spec.ts';
import { namesGas } from '../spec/prepare-params.ts';
import { blocksNamedBy } from '../upstreams/available-blocks.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import { afterFailure } from './after-failure.ts';
import { attempt } from './attempt.ts';
import { Call, type RangePart } from './call.ts';
import { confirm } from './confirm.ts';
import { exhausted } from './exhausted.ts';
import { lowerGas } from './gas-cap.ts';
import { mayStillArrive } from './may-still-arrive.ts';
import type { Router } from './router.ts';
import { catchUp, selectUpstream } from './select.ts';

/**
 * Sends a caller's call to the upstreams: waits for a slot of the network, and caps the gas as the spec requires.
 * @throws RpcError if the slots are used up, or no upstream has a usable response; Cancelled (rejects with it)
 */
export async function forward(call: Call): Promise<UpstreamResponse> {
  const { owner, deadline, cancellation } = call;
  const { slots } = call.router;
  if (!slots.tryEnter(owner)) await slots.wait(owner, deadline - performance.now(), cancellation);
  try {
    if (namesGas(call.method, call.params)) await lowerGas(call);
    return await tryUpstreams(call);
  } finally {
    slots.leave(owner);
  }
}

/** Sends a call of Gatehouse itself. @throws RpcError if no upstream has a usable response (rejects with it) */
export function requestUpstreams(
  router: Router,
  method: MethodSpec,
  params: readonly unknown[],
  deadline: number,
  range?: RangePart,
): Promise<UpstreamResponse> {
  const call = new Call(router, method, params, deadline);
  call.range = range;
  return tryUpstreams(call);
}

/**
 * Tries one upstream after the other until a response is final.
 * @throws RpcError if no upstream has a usable response; Cancelled (rejects with it)
 */
async function tryUpstreams(call: Call): Promise<UpstreamResponse> {
  prepare(call);
  for (;;) {
    const poll = catchUp(call, performance.now());
    if (poll !== undefined) await poll;
    const now = performance.now();
    const upstream = selectUpstream(call, now);
    if (upstream === undefined) {
      if (await mayStillArrive(call)) continue;
      return exhausted(call);
    }
    const outcome = await attempt(call, upstream, now);
    const response = outcome.final ? confirm(call, outcome.response) : afterFailure(call, outcome);
    if (response !== undefined) return response;
  }
}

/** Reads what the call needs from its upstream. */
function prepare(call: Call): void {
  const { router, method, params } = call;
  const { all, options, sent } = router;
  // With one upstream, only blocks, and the blocks of state, are compared.
  const needsBlocks = all.length > 1 || method.shape?.type === 'Block' || method.blockAt?.readsState === true;
  if (needsBlocks) call.blocks = blocksNamedBy(method, params);
  call.candidates = options.permitted.candidatesOf(method.name);
  call.failsafe = options.failsafe.of(method);
  call.preferred = sent.upstreamFor(method, params);
}
