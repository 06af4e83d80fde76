import type { Reason } from '../../jsonrpc/errors.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';

export type MethodCheck = (method: MethodSpec) => boolean;
/** @param params validated by the method's schema */
export type ParamsCheck = (method: MethodSpec, params: readonly unknown[]) => boolean;

/** Checks the calls of a key by method and parameters. Not responsible for the request around them (entry permissions). */
export class CallPermissions {
  readonly #methodChecks: readonly MethodCheck[];
  readonly #paramsChecks: readonly ParamsCheck[];

  /** Of a method that is not allowed. */
  readonly rejection: Reason;

  constructor(
    methodChecks: readonly MethodCheck[],
    paramsChecks: readonly ParamsCheck[],
    rejection: Reason = 'key-settings',
  ) {
    this.rejection = rejection;
    this.#methodChecks = methodChecks;
    this.#paramsChecks = paramsChecks;
  }

  allowMethod(method: MethodSpec): boolean {
    for (const isAllowed of this.#methodChecks) if (!isAllowed(method)) return false;
    return true;
  }

  allowParams(method: MethodSpec, params: readonly unknown[]): boolean {
    for (const isAllowed of this.#paramsChecks) if (!isAllowed(method, params)) return false;
    return true;
  }
}
