import type { Identity, MethodSpec } from '../../spec/method-spec.ts';

/** What a field of the result must be, since a parameter names it. */
export interface ExpectedIdentity {
  readonly field: string;
  readonly value: string;
}

/** All that the parameters name. */
export function expectedIdentities({ identity }: MethodSpec, params: readonly unknown[]): ExpectedIdentity[] {
  return (identity ?? []).flatMap((one) => {
    const value = expectedValue(one, params);
    return value === undefined ? [] : [{ field: one.field, value }];
  });
}

/** Undefined: a tag, or nothing. */
export function expectedValue({ param, kind }: Identity, params: readonly unknown[]): string | undefined {
  return kind === 'hash' ? hashIn(params[param]) : blockNumberIn(params[param]);
}

/** The hash that a parameter names, by itself or in an object. */
function hashIn(param: unknown): string | undefined {
  if (typeof param === 'string') return param.length === 66 ? param : undefined;
  const { blockHash } = (param ?? {}) as { blockHash?: unknown };
  return typeof blockHash === 'string' ? blockHash : undefined;
}

/** The number that a parameter names, by itself or in an object; a tag names none. */
function blockNumberIn(param: unknown): string | undefined {
  if (typeof param === 'string') return param.startsWith('0x') && param.length < 66 ? param : undefined;
  const { blockNumber } = (param ?? {}) as { blockNumber?: unknown };
  return typeof blockNumber === 'string' ? blockNumber : undefined;
}
