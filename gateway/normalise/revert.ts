import type { Reply } from '../upstream/reply.ts';
import { encodeReason, reasonOf } from './revert-payload.ts';

interface RevertRule {
  /** Anchored: the words of the node, never the contract's. The first group, if any, is the reason. */
  readonly message: RegExp;
  readonly client: string;
  readonly source: string;
}

/** How nodes say that the EVM executed REVERT. Code 3 proves nothing and is not needed. */
export const revertRules: readonly RevertRule[] = [
  {
    message: /^execution reverted(?:: ([^]*)| \([^]*\))?$/i,
    client: 'geth and its forks, erigon, reth, besu, nethermind 2026, anvil 1.7, zkSync Era',
    source: 'go-ethereum internal/ethapi/errors.go#L37-65; anvil 1.7.1 recorded; zksync-era tx_sender/result.rs#L21',
  },
  {
    message: /^Estimation isn't accurate: transaction is reverted: ([^]*)$/,
    client: 'zkSync Era, before 2024',
    source: 'zksync-era SubmitTransactionError texts',
  },
];

/** The spec's answer to a revert: code 3, the reason decoded from the payload, the payload; undefined if it is none. */
export function asRevert({ message, data }: Extract<Reply, { kind: 'error' }>): Reply | undefined {
  for (const rule of revertRules) {
    const match = rule.message.exec(message);
    if (match === null) continue;
    // A node that lost the payload may still have given the reason.
    const payload = payloadOf(data) ?? encodeReason(match[1]);
    const reason = reasonOf(payload);
    const text = reason === undefined ? 'execution reverted' : `execution reverted: ${reason}`;
    return { kind: 'error', code: 3, message: text, data: payload };
  }
  return undefined;
}

function payloadOf(data: unknown): string | undefined {
  if (typeof data === 'string' && /^0x([0-9a-f]{2})*$/i.test(data)) return data;
  if (typeof data === 'object' && data !== null && 'data' in data) return payloadOf(data.data);
  return undefined;
}
