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
export interface CallPermissions {
  /** Reason for a method that is not allowed. */
  readonly rejection: Reason;
  /** The permission that forbids the method; undefined: it is allowed. */
  forbidMethod(method: MethodSpec): RejectionRule | undefined;
  /** The permission that forbids the parameters; undefined: they are allowed. */
  forbidParams(method: MethodSpec, params: readonly unknown[]): RejectionRule | undefined;
}

/**
 * @param publicCheck the only check of methods of a caller without a key; undefined: it has a key
 * @returns undefined if there is no check
 */
export function callPermissions(
  methods: readonly FieldCheck<MethodCheck>[],
  params: readonly FieldCheck<ParamsCheck>[],
  publicCheck: MethodCheck | undefined,
): CallPermissions | undefined {
  if (publicCheck === undefined && methods.length + params.length === 0) return undefined;
  const checks = publicCheck === undefined ? methods : [{ rule: { name: 'public' }, isAllowed: publicCheck }];
  return {
    rejection: publicCheck === undefined ? 'key-settings' : 'not-public',
    forbidMethod: (method) => checks.find(({ isAllowed }) => !isAllowed(method))?.rule,
    forbidParams: (method, given) => params.find(({ isAllowed }) => !isAllowed(method, given))?.rule,
  };
}
