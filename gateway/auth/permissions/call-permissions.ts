import type { MethodSpec } from '../../spec/method-spec.ts';
import type { KeyPermissions } from './permissions.ts';

/** Which calls a key may make. */
export class CallPermissions {
  /** Names and namespaces: neither can be taken for the other. */
  readonly #methods: ReadonlySet<string> | undefined;
  /** In lower case. */
  readonly #contracts: ReadonlySet<string> | undefined;

  constructor({ methods, contracts }: KeyPermissions) {
    if (methods !== undefined) this.#methods = new Set(methods);
    if (contracts !== undefined) this.#contracts = new Set(contracts.map((address) => address.toLowerCase()));
  }

  allowMethod({ name, namespace }: MethodSpec): boolean {
    return this.#methods === undefined || this.#methods.has(name) || this.#methods.has(namespace);
  }

  /**
   * Whether every address that the call names is on the list. Where a method has a place for one and the call leaves it
   * empty, it means all contracts (`eth_getLogs`) or code of its own (`eth_call`), as a state override does: more than
   * the list allows. What a method that the spec does not know names, nobody can tell: its own name must be listed.
   */
  allowContract({ name, contractAt, isPassThrough }: MethodSpec, params: readonly unknown[]): boolean {
    const allowed = this.#contracts;
    if (allowed === undefined) return true;
    if (contractAt === undefined) return isPassThrough !== true || this.#methods?.has(name) === true;
    const { param, field, overrides } = contractAt;
    if (overrides !== undefined && Object.keys(params[overrides] ?? {}).length > 0) return false;
    const given = params[param];
    const named = field === undefined ? given : (given as Record<string, unknown> | null | undefined)?.[field];
    const addresses: readonly unknown[] = Array.isArray(named) ? named : [named];
    return (
      addresses.length > 0 &&
      addresses.every((address) => typeof address === 'string' && allowed.has(address.toLowerCase()))
    );
  }
}
