import { clock } from '../clock/clock.ts';
import { blockOfHash, blocksNamedBy } from '../upstreams/available-blocks.ts';
import type { FlowingResponse } from '../upstreams/transport/flowing-result.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import { afterFailure } from './after-failure.ts';
import { attempt } from './attempt.ts';
import { awaitNewer } from './await-newer.ts';
import type { Call } from './call.ts';
import { exhausted } from './exhausted.ts';
import { rulesOf } from './rules/rule-list.ts';
import { selectUpstream } from './select.ts';

/**
 * Sends a call: tries one upstream after the other until a response is final. A caller's call waits for a slot of the network
 * first.
 * @throws RpcError if the slots are used up, or no upstream has a usable response; Cancelled (rejects with it)
 */
export async function forward(call: Call): Promise<UpstreamResponse | FlowingResponse> {
  const { owner, router } = call;
  const { admit, before, select, confirm, end } = (call.rules = rulesOf(call));
  if (admit !== undefined) for (const hook of admit) await hook(call);
  // Calls of Gatehouse itself need none.
  const slots = call.context === undefined ? undefined : router.slots;
  if (slots?.tryEnter(owner) === false) await slots.wait(owner, call.deadline - clock.now(), call.cancellation);
  try {
    prepare(call);
    let response: UpstreamResponse | FlowingResponse | undefined;
    for (const hook of before ?? []) {
      const begun = hook(call);
      if (begun !== undefined) response = await begun;
      if (response !== undefined) break;
    }
    while (response === undefined) {
      for (const hook of select ?? []) {
        const waiting = hook(call);
        if (waiting !== undefined) await waiting;
      }
      let now = clock.now();
      const upstream = selectUpstream(call, now);
      if (upstream === undefined) {
        if (!(await awaitNewer(call))) response = await exhausted(call);
        continue;
      }
      const admission = upstream.limits?.admit() ?? true;
      if (admission !== true) {
        // Other processes, or other calls meanwhile, may use its limits: then another one is selected.
        if (!(await admission)) continue;
        now = clock.now();
      }
      const outcome = await attempt(call, upstream, now);
      if (!outcome.final) response = await afterFailure(call, outcome);
      else response = confirm === undefined ? outcome.response : confirm(call, outcome.response);
    }
    if (end !== undefined) for (const hook of end) response = await hook(call, response);
    return response;
  } finally {
    slots?.leave(owner);
  }
}

/** Reads what the call needs from its upstream. */
function prepare(call: Call): void {
  const { router, method, params, excluded, rules } = call;
  const { candidates = router.all } = rules;
  if (rules.comparesBlocks)
    call.blocks = blocksNamedBy(method, params) ?? blockOfHash(router.chain.view, method, params);
  call.candidates = excluded.length === 0 ? rules.candidates : candidates.filter((one) => !excluded.includes(one));
}
