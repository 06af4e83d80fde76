import type { MethodSpec } from '../../spec/method-spec.ts';
import { RawTransaction } from '../../upstreams/transactions/raw-transaction.ts';
import type { Call } from '../call.ts';
import type { Rule } from './rule.ts';

/** What an upstream returns for a transaction is read as what became of it: accepted, known, rejected or failed. */
export function sentTransaction({ sends }: MethodSpec): Rule<Call> | undefined {
  if (sends !== true) return undefined;
  return {
    during: (call, _, outcome) => {
      call.transaction ??= new RawTransaction(String(call.params[0]));
      return outcome;
    },
    judge: async ({ router, method, transaction, deadline }, upstream, outcome) =>
      transaction === undefined
        ? outcome
        : router.sent.resolveOutcome(upstream, method, transaction, outcome, deadline),
  };
}
