import type { MethodSpec } from './method-spec.ts';

/** Methods that take about as long as each other: an upstream is quick or slow at one of these by itself. */
export type MethodGroup = 'lookup' | 'execution' | 'list' | 'other';

export const methodGroups: readonly MethodGroup[] = ['lookup', 'execution', 'list', 'other'];

export function groupOf({ resultKinds, reverts }: MethodSpec): MethodGroup {
  // A trace, mostly: the spec does not know it.
  if (resultKinds === undefined) return 'other';
  if (reverts) return 'execution';
  return resultKinds.includes('array') ? 'list' : 'lookup';
}

/**
 * Whether a call of the method may be made a second time, or be broken off, without harm. Of a method that the spec does
 * not know only its name tells; a filter is kept by the node that was asked for it.
 */
export function isRead({ name, sends, resultKinds }: MethodSpec): boolean {
  return sends !== true && (resultKinds !== undefined || !/send|submit|filter/i.test(name));
}

/** Namespaces of methods that only tell something, whatever the spec knows of them. */
const READ_ONLY = /^(debug|trace|txpool|ots|erigon|parity|bor|arb|optimism|eth|net|web3|zks)_/;

/** Whether a call may change what others are told from then on: evm_mine, as everything that is sent. */
export function changesChain(spec: MethodSpec): boolean {
  return !isRead(spec) || !READ_ONLY.test(spec.name);
}

/** Whether two calls with the same parameters may share a reply. What the spec does not know may change the chain (evm_mine). */
export function canCoalesce(spec: MethodSpec): boolean {
  return spec.handledBy === undefined && spec.isPassThrough !== true && isRead(spec);
}
