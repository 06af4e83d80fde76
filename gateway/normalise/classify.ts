import type { MethodSpec } from '../spec/method-spec.ts';
import type { FailureClass } from '../upstream/reply.ts';
import { errorRules, type ErrorRule } from './error-rules.ts';

/** What an error that is no revert means. `final`: the same on every node, so that it is passed on. */
export function classify(method: MethodSpec, code: number, message: string): 'final' | 'not-found' | FailureClass {
  for (const rule of errorRules) {
    if (rule.means === 'not-found' && !method.nullable) continue;
    if (matches(rule, code, message)) return rule.means;
  }
  return 'unknown';
}

function matches(rule: ErrorRule, code: number, message: string): boolean {
  return (rule.code === undefined || rule.code === code) && (rule.message?.test(message) ?? true);
}
