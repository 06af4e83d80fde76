import { nodeMethods } from '../../spec/methods.generated.ts';
import { UpstreamFailure, type UpstreamResponse } from './upstream-response.ts';

/** @throws UpstreamFailure if the response to eth_chainId is malformed or has another chain id */
export function checkChain(response: UpstreamResponse, chainId: number): void {
  const result = response.kind === 'result' ? response.result : undefined;
  if (typeof result !== 'string' || !/^0x[0-9a-f]{1,64}$/i.test(result)) {
    throw new UpstreamFailure('malformed', `${nodeMethods.chainId} returned no chain id`);
  }
  const returned = BigInt(result);
  // A node that has just started to sync, as lighthouse's users report: it is on no other chain.
  if (returned === 0n) throw new UpstreamFailure('node-state', 'its chain id is 0: the node syncs');
  if (returned !== BigInt(chainId))
    throw new UpstreamFailure('wrong-chain', `its chain id is ${returned}, not ${chainId}`);
}
