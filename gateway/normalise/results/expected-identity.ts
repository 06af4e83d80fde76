import type { Identity, MethodSpec } from '../../spec/method-spec.ts';

/** A field of the result whose value a parameter determines. */
export interface ExpectedIdentity {
  readonly field: string;
  readonly value: string;
}

export function expectedIdentities({ identity }: MethodSpec, params: readonly unknown[]): ExpectedIdentity[] {
  return (identity ?? []).flatMap((one) => {
    const value = expectedValue(one, params);
    return value === undefined ? [] : [{ field: one.field, value }];
  });
}

/** Undefined if the parameter is absent or a tag. */
export function expectedValue({ param, kind }: Identity, params: readonly unknown[]): string | undefined {
  return kind === 'hash' ? hashIn(params[param]) : blockNumberIn(params[param]);
}

/** The block hash in a parameter: a string, or a member of an object. */
function hashIn(param: unknown): string | undefined {
  if (typeof param === 'string') return param.length === 66 ? param : undefined;
  const { blockHash } = (param ?? {}) as { blockHash?: unknown };
  return typeof blockHash === 'string' ? blockHash : undefined;
}

/** The block number in a parameter: a string, or a member of an object. Undefined for a tag. */
function blockNumberIn(param: unknown): string | undefined {
  if (typeof param === 'string') return param.startsWith('0x') && param.length < 66 ? param : undefined;
  const { blockNumber } = (param ?? {}) as { blockNumber?: unknown };
  return typeof blockNumber === 'string' ? blockNumber : undefined;
}
