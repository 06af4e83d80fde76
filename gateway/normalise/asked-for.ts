import type { Identity, MethodSpec } from '../spec/method-spec.ts';

/** What a field of the result must be, since a parameter names it. */
export interface Asked {
  readonly field: string;
  readonly value: string;
}

/** All that the parameters name. */
export function askedIn({ identity }: MethodSpec, params: readonly unknown[]): Asked[] {
  return (identity ?? []).flatMap((one) => {
    const value = askedBy(one, params);
    return value === undefined ? [] : [{ field: one.field, value }];
  });
}

/** Undefined: a tag, or nothing. */
export function askedBy({ param, kind }: Identity, params: readonly unknown[]): string | undefined {
  return kind === 'hash' ? hashIn(params[param]) : numberIn(params[param]);
}

/** The hash that a parameter names, by itself or in an object. */
function hashIn(param: unknown): string | undefined {
  if (typeof param === 'string') return param.length === 66 ? param : undefined;
  const { blockHash } = (param ?? {}) as { blockHash?: unknown };
  return typeof blockHash === 'string' ? blockHash : undefined;
}

/** The number that a parameter names, by itself or in an object; a tag names none. */
function numberIn(param: unknown): string | undefined {
  if (typeof param === 'string') return param.startsWith('0x') && param.length < 66 ? param : undefined;
  const { blockNumber } = (param ?? {}) as { blockNumber?: unknown };
  return typeof blockNumber === 'string' ? blockNumber : undefined;
}
