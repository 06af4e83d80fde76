import { clock } from '../clock/clock.ts';
import type { FetchBlock } from '../cache/final-chain.ts';
import { requestUpstreams } from '../call/own-calls.ts';
import type { Router } from '../call/router.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { methods, nodeMethods } from '../spec/methods.generated.ts';
import { parseResponse } from '../upstreams/transport/upstream-response.ts';

/** Long, because no call waits for it. */
const TIMEOUT_MS = 10_000;

const method = new Map(methods.map((spec) => [spec.name, spec])).get(nodeMethods.blockByNumber) as MethodSpec;

/** Fetches blocks without their transactions from the upstreams of a network, past the cache. */
export function fetchBlockFrom(router: Router): FetchBlock {
  return async (block) => {
    const deadline = clock.now() + TIMEOUT_MS;
    const response = parseResponse(await requestUpstreams(router, 'off', method, [block, false], deadline));
    return response.kind === 'result' ? response.result : undefined;
  };
}
