import type { CountName } from '../network-files/options/units-option.ts';
import { counters, rangeOf } from './count-params.ts';
import type { MethodSpec } from './method-spec.ts';

/** Bounds of what one call may request, of a network and of a key. A missing bound is none. */
export interface Bounds {
  readonly maxBlockRange?: number | undefined;
  readonly maxAddresses?: number | undefined;
  readonly maxStorageKeys?: number | undefined;
  readonly maxSimulatedCalls?: number | undefined;
  readonly maxResponseBytes?: number | undefined;
}

type CountBound = Exclude<keyof Bounds, 'maxResponseBytes'>;

/** Count that a bound limits in the parameters of a call, and its name in the rejection. */
const countBounds: Readonly<Record<CountBound, { readonly count: CountName; readonly noun: string }>> = {
  maxBlockRange: { count: 'blocks', noun: 'blocks' },
  maxAddresses: { count: 'addresses', noun: 'addresses' },
  maxStorageKeys: { count: 'storageKeys', noun: 'storage keys' },
  maxSimulatedCalls: { count: 'calls', noun: 'calls' },
};

/** Returns the message of the rejection if a call is beyond a bound of its network or key. @param params are validated */
export type BoundsCheck = (params: readonly unknown[], ofKey: Bounds | undefined) => string | undefined;

/** @returns undefined if nothing in the parameters of the method is bounded */
export function compileBounds(
  { counts = [] }: MethodSpec,
  ofNetwork: Bounds,
  head: () => bigint | undefined,
): BoundsCheck | undefined {
  const checks = Object.entries(countBounds).flatMap(([bound, { count, noun }]) =>
    counts.flatMap(({ name, type, param }) => {
      const counter = name === count ? counters[type]?.[name] : undefined;
      return counter === undefined ? [] : [{ bound: bound as CountBound, noun, param, counter }];
    }),
  );
  if (checks.length === 0) return undefined;
  return (params, ofKey) => {
    for (const { bound, noun, param, counter } of checks) {
      const limit = lower(ofNetwork[bound], ofKey?.[bound]);
      if (limit === undefined) continue;
      const counted = counter(params[param], head);
      if (counted <= limit) continue;
      const range = bound === 'maxBlockRange' ? rangeOf(params[param], head()) : undefined;
      const fit = range === undefined ? `${limit} in one request` : blocksFrom(range.from, limit);
      return `${bound} is ${limit}: the request has ${counted} ${noun}; ${fit} would fit`;
    }
    return undefined;
  };
}

/**
 * The message for a response of more bytes than a bound. It has a smaller request only if the call requests several of
 * something.
 */
export function responseTooLong(
  { counts = [] }: MethodSpec,
  params: readonly unknown[],
  bytes: number,
  limit: number,
): string {
  const problem = `maxResponseBytes is ${limit}: the response has ${bytes} bytes`;
  for (const { count, noun } of Object.values(countBounds)) {
    for (const { name, type, param } of counts) {
      const counted = name === count ? (counters[type]?.[name]?.(params[param]) ?? 0) : 0;
      const fit = Math.floor((counted * limit) / bytes);
      if (fit > 0) return `${problem}; ${fit} of its ${counted} ${noun} would fit`;
    }
  }
  return problem;
}

/** The lower of two bounds, of which each may be missing. */
export function lower(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

/** Blocks of a range as text. */
export function blocksFrom(from: bigint, count: number): string {
  const hex = (block: bigint): string => `0x${block.toString(16)}`;
  return `fromBlock ${hex(from)} and toBlock ${hex(from + BigInt(count) - 1n)}`;
}
