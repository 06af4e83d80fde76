/**
 * Proof of a result: a hash, a root in a proven header, a proof of state; or how many upstreams returned the same. `no`: it
 * is as an upstream returned it.
 */
export type Proof = 'hash' | 'root' | 'proof' | `agreed:${number}` | 'no';

/** The weaker one. Hash, root and proof are equally strong. */
export function weaker(one: Proof | undefined, other: Proof): Proof {
  return one === undefined || strengthOf(other) < strengthOf(one) ? other : one;
}

function strengthOf(proof: Proof): number {
  return proof === 'no' ? 0 : proof.startsWith('agreed') ? 1 : 2;
}
