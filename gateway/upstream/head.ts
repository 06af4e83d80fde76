export interface Head {
  /** When it was seen, on the clock of performance.now(). */
  readonly at: number;
  readonly number: bigint;
  readonly gasLimit: bigint;
}

/** Of a block. */
export function readHead(block: unknown, at: number): Head | undefined {
  if (typeof block !== 'object' || block === null) return undefined;
  const number = toBigInt((block as { number?: unknown }).number);
  const gasLimit = toBigInt((block as { gasLimit?: unknown }).gasLimit);
  return number === undefined || gasLimit === undefined ? undefined : { at, number, gasLimit };
}

function toBigInt(quantity: unknown): bigint | undefined {
  return typeof quantity === 'string' && /^0x[0-9a-f]{1,64}$/i.test(quantity) ? BigInt(quantity) : undefined;
}
