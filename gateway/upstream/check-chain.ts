import { UpstreamFailure, type Reply } from './reply.ts';

/** @throws UpstreamFailure unless a reply to eth_chainId gives this one */
export function checkChain(reply: Reply, chainId: number): void {
  const said = reply.kind === 'result' ? reply.result : undefined;
  if (typeof said !== 'string' || !/^0x[0-9a-f]{1,64}$/i.test(said)) {
    throw new UpstreamFailure('malformed', 'eth_chainId is not answered');
  }
  const given = BigInt(said);
  if (given !== BigInt(chainId)) throw new UpstreamFailure('wrong-chain', `its chain id is ${given}, not ${chainId}`);
}
