import type { KeyAccess } from '../auth/key-access.ts';
import type { Witnesses } from '../chain/witness-tracker.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { weaker, type Proof } from '../jsonrpc/proof.ts';
import { bestPattern } from '../network-files/options/method-pattern.ts';
import {
  isStronger,
  verifyLevels,
  type VerifyLevel,
  type VerifyOptions,
} from '../network-files/options/verify-option.ts';
import { isRead, rewritesChain } from '../spec/method-group.ts';
import type { MethodSpec } from '../spec/method-spec.ts';

/** How far the results of one method are proven. */
export interface MethodVerification {
  readonly level: VerifyLevel;
  /** How many upstreams must return the same, where nothing proves it; undefined: one is enough. */
  readonly agree: number | undefined;
  /** The share of the reads that are audited, from 0 to 1. */
  readonly share: number;
}

/** The level and the agreement of a method: those of its name, or else of the longest wildcard. */
export function verificationOf(method: string, { levels, agree, share }: VerifyOptions): MethodVerification {
  const [ofLevel, ofAgree] = [levels, agree].map((map) => bestPattern(Object.keys(map), method));
  const level = (ofLevel === undefined ? undefined : levels[ofLevel]) ?? 'off';
  const groups = ofAgree === undefined ? undefined : agree[ofAgree];
  return { level, agree: groups, share: level === 'observe' ? share : 0 };
}

/** How far the result of one call is proven. */
export interface CallVerification {
  /** A result that cannot be proven is an error. */
  readonly isRequired: boolean;
  /** Whether the `latest` of the call is the newest block that enough groups of upstreams have, if that is near the head. */
  readonly isWitnessed: boolean;
  readonly agree: number | undefined;
}

interface VerifiedCall {
  readonly method: MethodSpec;
  readonly served: { readonly verification: MethodVerification } | undefined;
}

/** How far the results of one body are proven, and what was proven. */
export class BodyVerification {
  readonly #level: VerifyLevel;
  /** The weakest of the responses so far; undefined: none. */
  proof: Proof | undefined;

  constructor(level: VerifyLevel) {
    this.#level = level;
  }

  /** The level of a method that has this one in the network file. */
  levelOf(ofMethod: VerifyLevel): VerifyLevel {
    return isStronger(this.#level, ofMethod) ? this.#level : ofMethod;
  }

  /** Verification of a call; undefined: the result is returned as an upstream returned it. */
  of({ served, method }: VerifiedCall): CallVerification | undefined {
    const { level: ofMethod, agree } = served?.verification ?? notVerified;
    const level = this.levelOf(ofMethod);
    // Another upstream would execute the call too.
    if (!isRead(method) || rewritesChain(method)) return undefined;
    const isWitnessed = isStronger(level, 'observe');
    if (!isWitnessed && agree === undefined) return undefined;
    return { isRequired: level === 'require' && method.isAdvice !== true, isWitnessed, agree };
  }

  add(proof: Proof): void {
    this.proof = weaker(this.proof, proof);
  }
}

const notVerified: MethodVerification = { level: 'off', agree: undefined, share: 0 };

/**
 * @param requested value of the header X-Gatehouse-Verify, which can only make it stronger
 * @returns undefined: no result of the body is proven
 * @throws RpcError if the header is not a level, or the key may not use it
 */
export function openVerification(
  { isVerified }: { readonly isVerified: boolean },
  { capabilities }: Pick<KeyAccess, 'capabilities'>,
  requested: string | readonly string[] | undefined,
): BodyVerification | undefined {
  let level = capabilities.verifyLevel;
  if (requested !== undefined) {
    const given = verifyLevels.find((one) => one === requested);
    if (!capabilities.verify)
      throw new RpcError('key-settings', 'X-Gatehouse-Verify: the key has no permission `verify`');
    if (given === undefined)
      throw new RpcError('invalid-request', 'X-Gatehouse-Verify: expected off, observe, enforce or require');
    if (isStronger(given, level)) level = given;
  }
  return isVerified || level !== 'off' ? new BodyVerification(level) : undefined;
}

/** What coalesced and cached results of verified calls have in their names. */
export function verifiedName(text: string, { isRequired }: CallVerification): string {
  return `${text}\n${isRequired ? 'require' : 'enforce'}`;
}

/** Whether a result with this proof is enough. */
export function isEnough(proof: Proof | undefined, { isRequired, agree }: CallVerification): boolean {
  return (proof !== undefined && proof !== 'no') || (!isRequired && agree === undefined);
}

/** How many groups of upstreams have the newest blocks, and how many must have them. */
export function describeWitnesses({ needed, present }: Pick<Witnesses, 'needed' | 'present'>): string {
  return `${needed} groups of upstreams must have the newest blocks, and ${present} ${present === 1 ? 'has' : 'have'} them`;
}
