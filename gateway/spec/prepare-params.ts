import type { MethodSpec } from './method-spec.ts';

/** Maximum gas of a call, in block gas limits: the spec's 1000 %. */
const GAS_CAP_FACTOR = 10n;

const none: readonly number[] = [];

/**
 * The parameters as they are sent, cached and coalesced. An omitted block is `latest`, since nodes differ in their default,
 * and some have none. Hashes are in lower case: ganache-cli 6 finds no block by an upper-case hash. Copies the array only if
 * it changes.
 */
export function prepareParams(method: MethodSpec, params: readonly unknown[]): readonly unknown[] {
  const { defaultsToLatest: block, storageParams = none, details, blockAt, isPassThrough, resultIs } = method;
  let prepared = params;
  for (const position of storageParams) prepared = change(prepared, position, prefixPosition);
  if (details !== undefined) prepared = change(prepared, details.param, nullToFalse);
  if (blockAt !== undefined && isPassThrough !== true) prepared = change(prepared, blockAt.param, unwrapTag);
  if (resultIs === 'block-objects') prepared = change(prepared, blockAt?.param ?? 0, unwrapBlock);
  if (block !== undefined && (params[block] ?? null) === null) {
    prepared = [...prepared.slice(0, block), 'latest', ...prepared.slice(block + 1)];
  }
  for (const position of method.hashParams) prepared = change(prepared, position, lowerHash);
  return prepared;
}

function change(
  params: readonly unknown[],
  position: number,
  changed: (value: unknown) => unknown,
): readonly unknown[] {
  const given = params[position];
  const value = changed(given);
  return value === given ? params : params.with(position, value);
}

/** Other node software reads a position without 0x as a decimal number. */
function prefixPosition(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith('0x') ? value : `0x${value}`;
  return Array.isArray(value) && value.some((one) => prefixPosition(one) !== one) ? value.map(prefixPosition) : value;
}

function nullToFalse(value: unknown): unknown {
  return value === null ? false : value;
}

/** `{blockNumber: 'latest'}` is `latest`. */
function unwrapTag(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('blockNumber' in value)) return value;
  const { blockNumber } = value;
  return typeof blockNumber === 'string' && !blockNumber.startsWith('0x') ? blockNumber : value;
}

/** A number or hash in an object is sent alone: EIP-1898 is for methods that read state, and some nodes reject it in others. */
function unwrapBlock(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { blockHash, blockNumber, requireCanonical } = value as Readonly<Record<string, unknown>>;
  return requireCanonical === true ? value : (blockHash ?? blockNumber ?? value);
}

/** @param value a hash, or an EIP-1898 object with one */
function lowerHash(value: unknown): unknown {
  if (typeof value === 'string') return value.length === 66 && /[A-F]/.test(value) ? value.toLowerCase() : value;
  if (typeof value !== 'object' || value === null || !('blockHash' in value)) return value;
  const lowered = lowerHash(value.blockHash);
  return lowered === value.blockHash ? value : { ...value, blockHash: lowered };
}

/** Whether the call specifies gas, so that the block gas limit must be known before the call is sent. */
export function namesGas({ gasAt }: MethodSpec, params: readonly unknown[]): boolean {
  if (gasAt === undefined) return false;
  for (const { param, path } of gasAt) if (hasGasAt(params[param], path, 0)) return true;
  return false;
}

/** Lowers the gas of the call to ten times the block gas limit. A call with more gas is not rejected. */
export function capGas(
  { gasAt = [] }: MethodSpec,
  params: readonly unknown[],
  blockGasLimit: bigint,
): readonly unknown[] {
  const cap = GAS_CAP_FACTOR * blockGasLimit;
  // 0: the chain has no block gas limit, or its blocks have no usable one.
  if (cap === 0n) return params;
  let capped = params;
  for (const { param, path } of gasAt) {
    const given = capped[param];
    const lowered = lowerMember(given, path, 0, cap);
    if (lowered !== given) capped = capped.with(param, lowered);
  }
  return capped;
}

/** @param depth number of path elements that lead to `value` */
function hasGasAt(value: unknown, path: readonly string[], depth: number): boolean {
  const name = path[depth];
  if (name === undefined) return typeof value === 'string';
  if (typeof value !== 'object' || value === null) return false;
  if (name !== '*') return hasGasAt((value as Record<string, unknown>)[name], path, depth + 1);
  return Array.isArray(value) && value.some((element) => hasGasAt(element, path, depth + 1));
}

/** @returns the value itself if nothing in it was lowered */
function lowerMember(value: unknown, path: readonly string[], depth: number, cap: bigint): unknown {
  const name = path[depth];
  if (name === undefined) return typeof value === 'string' && BigInt(value) > cap ? `0x${cap.toString(16)}` : value;
  if (typeof value !== 'object' || value === null) return value;
  if (name === '*') {
    if (!Array.isArray(value)) return value;
    const lowered = value.map((element) => lowerMember(element, path, depth + 1, cap));
    return lowered.some((element, index) => element !== value[index]) ? lowered : value;
  }
  const given = (value as Record<string, unknown>)[name];
  const lowered = lowerMember(given, path, depth + 1, cap);
  return lowered === given ? value : { ...value, [name]: lowered };
}
