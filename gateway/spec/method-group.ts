import type { MethodSpec } from './method-spec.ts';

/**
 * Whether a call of the method may be repeated or cancelled without side effects. For a pass-through method, its name
 * decides; filters are excluded, because they exist only at the upstream that created them.
 */
export function isRead({ name, sends, resultKinds, splits }: MethodSpec): boolean {
  if (sends === true) return false;
  return resultKinds !== undefined || splits !== undefined || !/send|submit|(new|get|uninstall)\w*filter/i.test(name);
}

/** Namespaces whose methods do not change the chain, pass-through methods included. */
const READ_ONLY = /^(debug|trace|txpool|ots|erigon|parity|bor|arb|arbtrace|optimism|eth|net|web3|zks)_/;

/** Whether a call may change later responses to other callers, as evm_mine and sent transactions do. */
export function changesChain(spec: MethodSpec): boolean {
  return !isRead(spec) || !READ_ONLY.test(spec.name);
}

/** Namespaces of development tools, and methods that set something, in any namespace. */
const DEVELOPMENT = /^(evm|anvil|hardhat|ganache|tenderly|tevm)_|_set[A-Z]/;

/** Whether a call may replace blocks or set state, so that no cached response is valid afterwards. */
export function rewritesChain({ name, isPassThrough }: MethodSpec): boolean {
  return isPassThrough === true && DEVELOPMENT.test(name);
}

/** Whether a result is passed on unread: whatever it is, and to one caller. */
export function passesUnread(spec: MethodSpec): boolean {
  return spec.isPassThrough === true && spec.splits === undefined && isRead(spec);
}

/** Whether identical calls may share one upstream response. Pass-through methods may not: evm_mine changes the chain. */
export function canCoalesce(spec: MethodSpec): boolean {
  return spec.handledBy === undefined && spec.isPassThrough !== true && isRead(spec);
}
