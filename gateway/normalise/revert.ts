import type { Reply } from '../upstream/reply.ts';
import { encodeReason, isPayload, reasonOf } from './revert-payload.ts';

interface RevertRule {
  /** Anchored: the words of the node, never the contract's. What follows them may be the `reason` or the `payload`. */
  readonly message: RegExp;
  readonly client: string;
  readonly source: string;
}

/** How nodes say that the EVM executed REVERT. Code 3 proves nothing and is not needed. */
export const revertRules: readonly RevertRule[] = [
  {
    message: /^execution reverted(?:: (?<reason>[^]*)| \([^]*\))?$/i,
    client: 'geth and its forks, erigon, reth, besu, nethermind 2026, anvil 1.7, zkSync Era',
    source: 'go-ethereum internal/ethapi/errors.go#L37-65; anvil 1.7.1 recorded; zksync-era tx_sender/result.rs#L21',
  },
  {
    message:
      /^always failing transaction \(execution reverted\)(?: \((?:(?<payload>0x(?:[0-9a-f]{2})+)|(?<reason>[^]*))\))?$/,
    client: 'geth 1.9.14',
    source: 'go-ethereum v1.9.14 internal/ethapi/api.go, DoEstimateGas',
  },
  {
    message: /^Estimation isn't accurate: transaction is reverted: (?<reason>[^]*)$/,
    client: 'zkSync Era, before 2024',
    source: 'zksync-era SubmitTransactionError texts',
  },
];

/** The spec's answer to a revert: code 3, the reason decoded from the payload, the payload; undefined if it is none. */
export function asRevert({ message, data }: Extract<Reply, { kind: 'error' }>): Reply | undefined {
  for (const rule of revertRules) {
    const match = rule.message.exec(message);
    if (match === null) continue;
    const payload = payloadOf(data, match.groups ?? {});
    const reason = reasonOf(payload);
    const text = reason === undefined ? 'execution reverted' : `execution reverted: ${reason}`;
    return { kind: 'error', code: 3, message: text, data: payload };
  }
  return undefined;
}

/** The bytes that the node gave, by themselves or in an object. One that lost them may still have told the reason. */
function payloadOf(data: unknown, { reason, payload }: Readonly<Record<string, string | undefined>>): string {
  const given = typeof data === 'object' && data !== null && 'data' in data ? data.data : data;
  if (isPayload(given) && (given !== '0x' || reason === undefined || reason === '')) return given;
  return payload ?? encodeReason(reason);
}
