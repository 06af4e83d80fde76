import { RpcError } from '../jsonrpc/errors.ts';
import { capGas } from '../spec/prepare-params.ts';
import { withTimeout } from '../upstreams/health/with-timeout.ts';
import { UpstreamFailure } from '../upstreams/transport/upstream-response.ts';
import type { Call } from './call.ts';
import { noCandidateError } from './exhausted.ts';
import { recordFailure } from './record-attempt.ts';
import type { Router } from './router.ts';
import { headPoll, select } from './select.ts';

/** Lowers the gas of a call to the gas cap. @throws RpcError if no upstream returns a block in time (rejects with it) */
export async function lowerGas(call: Call): Promise<void> {
  const { method, params, router, deadline } = call;
  call.replaceParams(capGas(method, params, await blockGasLimit(router, deadline)));
}

/**
 * The gas limit of the newest known block; polls upstreams if no block is known. 0: blocks have no usable gas limit.
 * @param deadline on the clock of performance.now()
 * @throws RpcError if no upstream responds in time
 */
async function blockGasLimit(router: Router, deadline: number): Promise<bigint> {
  const gasLimit = router.chain.view.gasLimit(performance.now());
  if (gasLimit !== undefined) return gasLimit;
  router.gasLimitRequest ??= pollGasLimit(router).finally(() => {
    router.gasLimitRequest = undefined;
  });
  return withTimeout(router.gasLimitRequest, deadline - performance.now(), () => new RpcError('no-upstream'));
}

async function pollGasLimit(router: Router): Promise<bigint> {
  const call = headPoll(router);
  let hasBlock = false;
  for (;;) {
    const now = performance.now();
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
