import type { Reason, RejectionRule } from '../../jsonrpc/errors.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';

export type MethodCheck = (method: MethodSpec) => boolean;
/** @param params validated by the method's schema */
export type ParamsCheck = (method: MethodSpec, params: readonly unknown[]) => boolean;

/** The check of a field of the key. */
export interface FieldCheck<Check> {
  readonly rule: RejectionRule;
  readonly isAllowed: Check;
}

/** Checks the calls of a key by method and parameters. Not responsible for the request around them (entry permissions). */
export class CallPermissions {
  readonly #methodChecks: readonly FieldCheck<MethodCheck>[];
  readonly #paramsChecks: readonly FieldCheck<ParamsCheck>[];

  /** Reason for a method that is not allowed. */
  readonly rejection: Reason;

  constructor(
    methodChecks: readonly FieldCheck<MethodCheck>[],
    paramsChecks: readonly FieldCheck<ParamsCheck>[],
    rejection: Reason,
  ) {
    this.rejection = rejection;
    this.#methodChecks = methodChecks;
    this.#paramsChecks = paramsChecks;
  }

  /** The permission that forbids the method; undefined: it is allowed. */
  forbidMethod(method: MethodSpec): RejectionRule | undefined {
    for (const { rule, isAllowed } of this.#methodChecks) if (!isAllowed(method)) return rule;
    return undefined;
  }

  /** The permission that forbids the parameters; undefined: they are allowed. */
  forbidParams(method: MethodSpec, params: readonly unknown[]): RejectionRule | undefined {
    for (const { rule, isAllowed } of this.#paramsChecks) if (!isAllowed(method, params)) return rule;
    return undefined;
  }
}
