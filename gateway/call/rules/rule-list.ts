import type { MethodSpec } from '../../spec/method-spec.ts';
import type { Call } from '../call.ts';
import { confirmation } from '../confirm.ts';
import { hasFlowingResults } from '../flow.ts';
import { namesItsBlock } from '../monotonic-reads.ts';
import type { Router } from '../router.ts';
import { acceptedTransactions } from './accepted-transactions.ts';
import { catchingUp } from './catch-up.ts';
import { senderCharge } from './sender-charge.ts';
import { gasCap } from './gas-cap.ts';
import { lateReceipt } from './late-receipt.ts';
import { followUp } from './follow-up.ts';
import type { CallRules, Rule, RuleAccess } from './rule.ts';
import { sentTransaction } from './sent-transaction.ts';
import { sharedBlocks } from './shared-blocks.ts';
import { transactionRoute } from './transaction-route.ts';
import { verification } from './verification.ts';

/**
 * @param isVerified the results of the calls are proven or compared before they are returned
 * @returns undefined: these calls of the method do not need the rule
 */
type RuleOf = (method: MethodSpec, router: Router, access: RuleAccess, isVerified: boolean) => Rule<Call> | undefined;

/**
 * All rules, by the order in which their hooks run. Without its line here, and its file, a rule is gone, except that hedges and
 * waits use the judgements of the confirmation.
 */
export const rules: readonly (readonly [name: string, of: RuleOf])[] = [
  // Rejects the call before it has a slot and the others do work for it.
  ['sender charge', senderCharge],
  // Changes the parameters that are sent, so it is before the rules that send them.
  ['gas cap', gasCap],
  // Sends a transaction, which then has been charged.
  ['transaction route', transactionRoute],
  // Sends the parameters as they are then.
  ['accepted transactions', acceptedTransactions],
  // Judges estimates, the next one what sends.
  ['follow-up', followUp],
  // Keeps the transaction, which the next one looks up.
  ['sent transaction', sentTransaction],
  ['late receipt', lateReceipt],
  // Waits with the response, before the next one completes it.
  ['shared blocks', sharedBlocks],
  // Judges what the others have made of a response. Pins a tag, for which the next one waits.
  ['verification', verification],
  ['catching up', catchingUp],
  // Confirms what the others have let pass.
  ['confirmation', confirmation],
];

/** The lists of one method on one network, by the access and whether results are proven. */
type MethodLists = Partial<Record<RuleAccess | `${RuleAccess} verified`, CallRules<Call>>>;

/** Lists of each network by method. The network remembers a bounded number of methods, those of wildcards included. */
const lists = new WeakMap<Router, WeakMap<MethodSpec, MethodLists>>();

/** The rules of a call, which are the same for all calls of its method that have the same access. */
export function rulesOf({ router, method, context, verification: given }: Call): CallRules<Call> {
  const access = context?.access;
  const kind =
    access === undefined
      ? 'gatehouse'
      : access.publicCaller !== undefined
        ? 'public'
        : access.capabilities.private
          ? 'private'
          : 'key';
  let ofNetwork = lists.get(router);
  if (ofNetwork === undefined) lists.set(router, (ofNetwork = new WeakMap<MethodSpec, MethodLists>()));
  let known = ofNetwork.get(method);
  if (known === undefined) ofNetwork.set(method, (known = {}));
  return given === undefined
    ? (known[kind] ??= listOf(method, router, kind))
    : (known[`${kind} verified`] ??= listOf(method, router, kind, true));
}

/** The list for a combination, which `rulesOf` keeps. */
export function listOf(method: MethodSpec, router: Router, access: RuleAccess, isVerified = false): CallRules<Call> {
  const found = rules.flatMap(([name, of]) => {
    const rule = of(method, router, access, isVerified);
    return rule === undefined ? [] : [{ name, ...rule }];
  });
  const judge = hooks(found.map((rule) => rule.judge));
  return {
    names: found.map(({ name }) => name),
    admit: hooks(found.map(({ admit }) => admit)),
    before: hooks(found.map(({ before }) => before)),
    during: hooks(found.map(({ during }) => during)),
    judge,
    select: hooks(found.map(({ select }) => select)),
    end: hooks(found.map(({ end }) => end)),
    confirm: found.find(({ confirm }) => confirm !== undefined)?.confirm,
    mayFlow: judge === undefined && hasFlowingResults(method),
    candidates: router.options.permitted.candidatesOf(method.name),
    failsafe: router.options.failsafe.of(method),
    comparesBlocks: !router.isAlone || namesItsBlock(method) || method.blockAt?.readsState === true,
  };
}

function hooks<Hook>(all: readonly (Hook | undefined)[]): readonly Hook[] | undefined {
  const given = all.filter((hook) => hook !== undefined);
  return given.length === 0 ? undefined : given;
}
