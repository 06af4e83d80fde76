import type { MethodSpec } from '../spec/method-spec.ts';
import type { FailureClass } from '../upstream/reply.ts';
import type { ErrorLayer } from './error-layers.ts';
import { errorRules, type ErrorRule } from './error-rules.ts';
import { haltRules } from './halt-rules.ts';

/** `final`: the same on every node, so that it is passed on. `null`: there is no such thing. */
export type Meaning = 'final' | 'null' | FailureClass;

/** What an error that is no revert means. The first rule that knows one of its layers decides. */
export function classify(method: MethodSpec, layers: readonly ErrorLayer[], status: number): Meaning {
  return (find(haltRules, method, layers, status) ?? find(errorRules, method, layers, status))?.means ?? 'unknown';
}

/** Whether it is known for an outcome that is no revert and would be the same everywhere. */
export function isFinal(method: MethodSpec, layers: readonly ErrorLayer[]): boolean {
  return find(haltRules, method, layers, 200) !== undefined;
}

function find(
  rules: readonly ErrorRule[],
  method: MethodSpec,
  layers: readonly ErrorLayer[],
  status: number,
): ErrorRule | undefined {
  return rules.find(
    (rule) =>
      (rule.status === undefined || rule.status.includes(status)) &&
      (rule.of === undefined || isOf(method, rule.of)) &&
      layers.some((layer) => knows(rule, layer)),
  );
}

function knows({ codes, text }: ErrorRule, { code, texts }: ErrorLayer): boolean {
  return (codes?.includes(code) ?? true) && (text === undefined || texts.some((one) => text.test(one)));
}

function isOf(method: MethodSpec, of: NonNullable<ErrorRule['of']>): boolean {
  switch (of) {
    case 'lookups':
      return method.nullable;
    case 'lookups by hash':
      return method.looksUpHash === true || method.nullWhenUnsupported === true;
    case 'reads':
      return !method.reverts && method.sends !== true && method.resultKinds !== undefined;
    default:
      return method.name === of;
  }
}
