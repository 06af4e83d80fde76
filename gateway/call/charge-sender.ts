import { RpcError } from '../jsonrpc/errors.ts';
import { decodeTransaction } from '../upstreams/transactions/decode-transaction.ts';
import type { Call } from './call.ts';
import type { CallContext } from './call-context.ts';

/**
 * Charges a transaction to the limit of its sender, if its caller has no key. The body is charged to the address already,
 * so that an address can cause few recoveries of a sender, which take 1.4 ms each. An unknown type has no sender.
 * @throws RpcError rate-limit (rejects with it)
 */
export async function chargeSender({ params }: Call, { access, limiter }: CallContext): Promise<void> {
  const limitsOf = access.publicCaller?.of.senderLimits;
  const [raw] = params;
  if (limitsOf === undefined || typeof raw !== 'string') return;
  const sender = decodeTransaction(raw)?.sender();
  if (sender === undefined) return;
  const { shortage } = await limiter.charge(limitsOf(sender), { units: 1, byMethod: new Map() });
  if (shortage === undefined) return;
  const { waitS: retryAfterS, allowance } = shortage;
  throw new RpcError('rate-limit', 'rate of transactions of this sender without project id exceeded', {
    retryAfterS,
    ...(allowance !== undefined && { allowance }),
  });
}
