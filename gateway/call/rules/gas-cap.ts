import { clock } from '../../clock/clock.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import { capGas, namesGas } from '../../spec/prepare-params.ts';
import { withTimeout } from '../../upstreams/health/with-timeout.ts';
import { UpstreamFailure } from '../../upstreams/transport/upstream-response.ts';
import type { Call } from '../call.ts';
import { noCandidateError } from '../exhausted.ts';
import { recordFailure } from '../record-attempt.ts';
import type { Router } from '../router.ts';
import { headPoll, select } from '../select.ts';
import type { Rule, RuleAccess } from './rule.ts';

/** Requests for the block gas limit in progress. */
const requests = new WeakMap<Router, Promise<bigint>>();

/** Lowers the gas of a caller's call to the gas cap, which depends on the block gas limit. */
export function gasCap({ gasAt }: MethodSpec, _: Router, access: RuleAccess): Rule<Call> | undefined {
  if (gasAt === undefined || access === 'gatehouse') return undefined;
  return { before: (call) => (namesGas(call.method, call.params) ? lowerGas(call) : undefined) };
}

/** @throws RpcError if no upstream returns a block in time (rejects with it) */
async function lowerGas(call: Call): Promise<undefined> {
  const { method, params, router, deadline } = call;
  call.replaceParams(capGas(method, params, await blockGasLimit(router, deadline)));
}

/**
 * The gas limit of the newest known block; polls upstreams if no block is known. 0: blocks have no usable gas limit.
 * @param deadline by clock.now()
 * @throws RpcError if no upstream responds in time
 */
async function blockGasLimit(router: Router, deadline: number): Promise<bigint> {
  const gasLimit = router.chain.view.gasLimit(clock.now());
  if (gasLimit !== undefined) return gasLimit;
  let request = requests.get(router);
  if (request === undefined) {
    request = pollGasLimit(router).finally(() => requests.delete(router));
    requests.set(router, request);
  }
  return withTimeout(request, deadline - clock.now(), () => new RpcError('no-upstream'));
}

async function pollGasLimit(router: Router): Promise<bigint> {
  const call = headPoll(router);
  let hasBlock = false;
  for (;;) {
    const now = clock.now();
    const upstream = select(call, now);
    if (upstream === undefined && hasBlock) return 0n;
    if (upstream === undefined) throw noCandidateError(call.tried.length === 0 ? router.headSources : [], now);
    call.tried = [...call.tried, upstream];
    try {
      const block = await router.chain.poll(upstream);
      if (block !== undefined && block.gasLimit > 0n) return block.gasLimit;
      hasBlock ||= block !== undefined;
      if (block === undefined) throw new UpstreamFailure('node-state', 'no latest block in the response');
    } catch (error) {
      recordFailure(upstream, call.method.name, error);
    }
  }
}
