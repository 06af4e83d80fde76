import { RpcError } from '../../jsonrpc/errors.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import { decodeTransaction } from '../../upstreams/transactions/decode-transaction.ts';
import type { Call } from '../call.ts';
import { infuraErrorOf } from '../charge.ts';
import type { Router } from '../router.ts';
import type { Rule, RuleAccess } from './rule.ts';

/** A transaction without a key is charged to its sender. */
export function senderCharge(method: MethodSpec, _: Router, access: RuleAccess): Rule<Call> | undefined {
  return method.sends === true && access === 'public' ? { admit: chargeSender } : undefined;
}

/**
 * The body is charged to the address already, so that an address can cause few recoveries of a sender, which take 1.4 ms each.
 * An unknown type has no sender.
 * @throws RpcError rate-limit (rejects with it)
 */
async function chargeSender({ params, context }: Call): Promise<void> {
  const limitsOf = context?.access.publicCaller?.of.senderLimits;
  const [raw] = params;
  if (context === undefined || limitsOf === undefined || typeof raw !== 'string') return;
  const sender = decodeTransaction(raw)?.sender();
  if (sender === undefined) return;
  const { shortage } = await context.limiter.charge(limitsOf(sender), { units: 1, byMethod: new Map() });
  if (shortage === undefined) return;
  const { waitS: retryAfterS, allowance } = shortage;
  throw new RpcError('rate-limit', 'rate of transactions of this sender without project id exceeded', {
    retryAfterS,
    ...(allowance !== undefined && { allowance }),
    infura: infuraErrorOf(shortage, context),
  });
}
