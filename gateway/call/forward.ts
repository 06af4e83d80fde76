import { clock } from '../clock/clock.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { namesGas } from '../spec/prepare-params.ts';
import { blocksNamedBy } from '../upstreams/available-blocks.ts';
import { complete, type FlowingResponse } from '../upstreams/transport/flowing-result.ts';
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
 * Sends a call: tries one upstream after the other until a response is final. A caller's call waits for a slot of the network
 * first, and its gas is capped as the spec requires.
 * @throws RpcError if the slots are used up, or no upstream has a usable response; Cancelled (rejects with it)
 */
export async function forward(call: Call): Promise<UpstreamResponse | FlowingResponse> {
  const { owner } = call;
  // Calls of Gatehouse itself need none.
  const slots = call.context === undefined ? undefined : call.router.slots;
  if (slots?.tryEnter(owner) === false) await slots.wait(owner, call.deadline - clock.now(), call.cancellation);
  try {
    if (slots !== undefined && namesGas(call.method, call.params)) await lowerGas(call);
    prepare(call);
    for (;;) {
      const poll = catchUp(call, clock.now());
      if (poll !== undefined) await poll;
      const now = clock.now();
      const upstream = selectUpstream(call, now);
      if (upstream === undefined) {
        if (await mayStillArrive(call)) continue;
        return exhausted(call);
      }
      const outcome = await attempt(call, upstream, now);
      const response = outcome.final ? confirm(call, outcome.response) : afterFailure(call, outcome);
      if (response !== undefined) return response;
    }
  } finally {
    slots?.leave(owner);
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
  return forward(call).then(complete);
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
