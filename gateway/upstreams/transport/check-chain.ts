import { UpstreamFailure, type UpstreamResponse } from './upstream-response.ts';

/** @throws UpstreamFailure unless a reply to eth_chainId gives this one */
export function checkChain(response: UpstreamResponse, chainId: number): void {
  const result = response.kind === 'result' ? response.result : undefined;
  if (typeof result !== 'string' || !/^0x[0-9a-f]{1,64}$/i.test(result)) {
    throw new UpstreamFailure('malformed', 'eth_chainId is not answered');
  }
  const chainIdGiven = BigInt(result);
  if (chainIdGiven !== BigInt(chainId))
    throw new UpstreamFailure('wrong-chain', `its chain id is ${chainIdGiven}, not ${chainId}`);
}
