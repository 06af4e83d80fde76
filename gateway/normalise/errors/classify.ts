import type { MethodSpec } from '../../spec/method-spec.ts';
import { isMeaningful, type NestedError } from './nested-errors.ts';
import type { ErrorRule, Meaning } from './error-rule.ts';
import { errorRules } from './error-rules.ts';
import { executionErrorRules } from './execution-error-rules.ts';
import { transactionRules } from './transaction-rules.ts';

/** What an error that is no revert means. The first rule that knows one of its layers decides. */
export function classify(method: MethodSpec, nestedErrors: readonly NestedError[], status: number): Meaning {
  if (isFinal(method, nestedErrors)) return 'final';
  const means = find(errorRules, method, nestedErrors, status)?.means ?? 'unknown';
  // Of a transaction only the closed list is final.
  return means === 'final' && method.sends === true ? 'unknown' : means;
}

/**
 * Whether it is known for an outcome that is no revert and would be the same everywhere. In an error of a read such a
 * text is about a transaction of the chain, which the node executes again (erigon, for its receipts).
 */
export function isFinal(method: MethodSpec, nestedErrors: readonly NestedError[]): boolean {
  if (isRead(method)) return false;
  if (find(executionErrorRules, method, nestedErrors, 200) !== undefined) return true;
  return method.sends === true && find(transactionRules, method, nestedErrors, 200) !== undefined;
}

function find(
  rules: readonly ErrorRule[],
  method: MethodSpec,
  nestedErrors: readonly NestedError[],
  status: number,
): ErrorRule | undefined {
  return rules.find(
    (rule) =>
      (rule.status === undefined || rule.status.includes(status)) &&
      (rule.of === undefined || appliesToMethod(method, rule.of)) &&
      (rule.means === 'null' || rule.means === 'not-found'
        ? knowsAsWhole(rule, nestedErrors)
        : nestedErrors.some((nestedError) => matches(rule, nestedError))),
  );
}

function matches({ codes, text }: ErrorRule, { code, texts }: NestedError): boolean {
  return (codes?.includes(code) ?? true) && (text === undefined || texts.some((one) => text.test(one)));
}

/** Null needs the error's own text: what follows another text, or stands below it, is about that ("storage: not found"). */
function knowsAsWhole({ codes, text }: ErrorRule, nestedErrors: readonly NestedError[]): boolean {
  for (const { code, texts } of nestedErrors) {
    const own = texts[0] ?? '';
    if ((codes?.includes(code) ?? true) && text?.test(own) === true) return true;
    if (isMeaningful(own)) return false;
  }
  return false;
}

function appliesToMethod(method: MethodSpec, appliesTo: NonNullable<ErrorRule['of']>): boolean {
  switch (appliesTo) {
    case 'lookups':
      return method.nullable;
    case 'lookups by hash':
      return method.looksUpHash === true || method.nullWhenUnsupported === true;
    case 'reads':
      return isRead(method);
    default:
      return method.name === appliesTo;
  }
}

function isRead({ reverts, executes, sends, resultKinds }: MethodSpec): boolean {
  return !reverts && executes !== true && sends !== true && resultKinds !== undefined;
}
