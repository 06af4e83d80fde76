import type { MethodSpec } from './method-spec.ts';

/** How many times the current block gas limit a call may name as its gas: the spec's 1000 %. */
const GAS_CAP_FACTOR = 10n;

/** Lowers upper-case hashes: ganache-cli 6 does not find a block by them. The array is copied only when it changes. */
export function lowerHashes(method: MethodSpec, params: readonly unknown[]): readonly unknown[] {
  let prepared = params;
  for (const position of method.hashParams) {
    const given = params[position];
    const lowered = lowerHash(given);
    if (lowered !== given) prepared = prepared.with(position, lowered);
  }
  return prepared;
}

/** A hash, or an EIP-1898 object with one. */
function lowerHash(value: unknown): unknown {
  if (typeof value === 'string') return value.length === 66 && /[A-F]/.test(value) ? value.toLowerCase() : value;
  if (typeof value !== 'object' || value === null || !('blockHash' in value)) return value;
  const lowered = lowerHash(value.blockHash);
  return lowered === value.blockHash ? value : { ...value, blockHash: lowered };
}

/** Whether the call names its gas, so that the block gas limit must be known before it goes out. */
export function namesGas(method: MethodSpec, params: readonly unknown[]): boolean {
  return method.gasCapParam !== undefined && typeof gasOf(params[method.gasCapParam]) === 'string';
}

/** Lowers the call's gas to ten times the block gas limit; it is not refused. */
export function capGas(method: MethodSpec, params: readonly unknown[], blockGasLimit: bigint): readonly unknown[] {
  const position = method.gasCapParam ?? 0;
  const call = params[position] as { gas: string };
  const cap = GAS_CAP_FACTOR * blockGasLimit;
  // 0: the chain bounds no block, or its blocks come without a usable limit.
  return cap === 0n || BigInt(call.gas) <= cap
    ? params
    : params.with(position, { ...call, gas: `0x${cap.toString(16)}` });
}

function gasOf(call: unknown): unknown {
  return typeof call === 'object' && call !== null ? (call as { gas?: unknown }).gas : undefined;
}
