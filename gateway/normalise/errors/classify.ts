import type { MethodSpec } from '../../spec/method-spec.ts';
import { isMeaningful, type NestedError } from './nested-errors.ts';
import type { ErrorRule, Meaning } from './error-rule.ts';
import { errorRules } from './error-rules.ts';
import { executionErrorRules } from './execution-error-rules.ts';
import { transactionRules } from './transaction-rules.ts';

/** Classifies an error that is not a revert. The first rule that matches one of the nested errors decides. */
export function classify(method: MethodSpec, nestedErrors: readonly NestedError[], status: number): Meaning {
  if (isFinal(method, nestedErrors)) return 'final';
  const meaning = findRule(errorRules, method, nestedErrors, status)?.means ?? 'unknown';
  // For a sent transaction, only the errors of the closed list are final.
  return meaning === 'final' && method.sends === true ? 'unknown' : meaning;
}

/**
 * Whether every node would return this error, which is not a revert. Such a text in the error of a read concerns a
 * transaction of the chain, which the node executes again (erigon, for its receipts): then it is not final.
 */
export function isFinal(method: MethodSpec, nestedErrors: readonly NestedError[]): boolean {
  if (executesNothing(method)) return false;
  if (method.sends === true && nestedErrors.some(({ texts }) => texts.some((text) => aboutProvider.test(text))))
    return false;
  if (findRule(executionErrorRules, method, nestedErrors, 200) !== undefined) return true;
  return method.sends === true && findRule(transactionRules, method, nestedErrors, 200) !== undefined;
}

/**
 * A text about the provider's own service. Another upstream may accept the transaction, whatever else the text has. proxyd's
 * limit of a sender is about the sender, whose transactions all its nodes reject.
 */
const aboutProvider =
  /\b(?:(?<!^sender is over )rate.?limit\w*|quota|plan|billing|api.?key|provider|recharge|your account)\b/i;

function findRule(
  rules: readonly ErrorRule[],
  method: MethodSpec,
  nestedErrors: readonly NestedError[],
  status: number,
): ErrorRule | undefined {
  return rules.find(
    (rule) =>
      (rule.status === undefined || rule.status.includes(status)) &&
      (rule.methods === undefined || appliesToMethod(method, rule.methods)) &&
      (rule.means === 'null' || rule.means === 'not-found'
        ? matchesWholeText(rule, nestedErrors)
        : nestedErrors.some((nestedError) => matches(rule, nestedError))),
  );
}

function matches({ codes, text }: ErrorRule, { code, texts }: NestedError): boolean {
  return (codes?.includes(code) ?? true) && (text === undefined || texts.some((candidate) => text.test(candidate)));
}

/** Matches the outermost meaningful text as a whole: in "storage: not found", the rest concerns the storage. */
function matchesWholeText({ codes, text }: ErrorRule, nestedErrors: readonly NestedError[]): boolean {
  for (const { code, texts } of nestedErrors) {
    const own = texts[0] ?? '';
    if ((codes?.includes(code) ?? true) && text?.test(own) === true) return true;
    if (isMeaningful(own)) return false;
  }
  return false;
}

function appliesToMethod(method: MethodSpec, methods: NonNullable<ErrorRule['methods']>): boolean {
  switch (methods) {
    case 'lookups':
      return method.nullable;
    case 'lookups by hash':
      return method.looksUpHash === true;
    case 'reads':
      return executesNothing(method);
    case 'logs':
      return method.resultIs === 'logs' || method.splits !== undefined;
    case 'without schema':
      return method.isPassThrough === true;
  }
}

/** Whether the method has a schema and executes no code, so that its errors have no text of a contract. */
export function executesNothing({ reverts, executes, sends, resultKinds }: MethodSpec): boolean {
  return !reverts && executes !== true && sends !== true && resultKinds !== undefined;
}
