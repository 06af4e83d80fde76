import { clock } from '../clock/clock.ts';
import { cutText } from '../collections/cut-text.ts';
import { isObject } from '../collections/is-object.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { ShownParams } from './shown-params.ts';

const MAX_DIFFERENCES = 20;
/** A hash of 32 bytes in hexadecimal. */
const MAX_VALUE_LENGTH = 66;
/** Names of members may be of an upstream. */
const MAX_MEMBER_LENGTH = 100;

/** Value that an upstream returned: a result, the data of a revert, or the code of an error. */
export interface UpstreamValue {
  readonly upstream: string;
  readonly value: unknown;
}

/** Results of upstreams that differ, or one that is disproved. */
export interface FoundDifference {
  readonly method: MethodSpec;
  readonly params: readonly unknown[];
  /** The finding in words. */
  readonly reason: string;
  /** Path to the first member in which they differ; empty: they differ as a whole. */
  readonly path: readonly string[];
  readonly values: readonly UpstreamValue[];
}

/** Equal differences, with the facts of the latest one. It has neither keys nor URLs. */
export interface Difference extends PublicDifference {
  /** The block as the call names it; undefined: it names none. */
  readonly block: string | undefined;
  /** The parameters, as far as RECENT_CALLS_PARAMS allows. */
  readonly params: string | undefined;
  /** The first member in which they differ; empty: they are no objects or lists. */
  readonly member: string;
  /** The values, at most 66 characters of each. */
  readonly values: readonly { readonly upstream: string; readonly value: string }[];
}

/** The public part of a difference: nothing that a caller requested or got. */
export interface PublicDifference {
  readonly at: string;
  readonly count: number;
  readonly method: string;
  readonly reason: string;
  readonly upstreams: readonly string[];
}

/** The latest differences between the upstreams of one network, which audits, `agree` and `verify` found. */
export class Differences {
  readonly #params: ShownParams | undefined;
  /** Differences by what equal ones have in common: one method cannot push out those of others. Oldest first. */
  readonly #rows = new Map<string, Difference>();

  constructor(params: ShownParams | undefined) {
    this.#params = params;
  }

  /** The latest ones first. For operators. */
  latest(): readonly Difference[] {
    return [...this.#rows.values()].reverse();
  }

  add({ method, params, reason, path, values }: FoundDifference): void {
    const upstreams = values.map(({ upstream }) => upstream);
    const member = cutText(path.join('.'), MAX_MEMBER_LENGTH);
    const name = nameOf({ method: method.name, upstreams, reason, member });
    const count = (this.#rows.get(name)?.count ?? 0) + 1;
    this.#rows.delete(name);
    this.#rows.set(name, {
      ...{ at: new Date(clock.unixMs()).toISOString(), count, method: method.name },
      block: blockNamed(method, params),
      params: this.#params?.of(method, params),
      ...{ reason, upstreams, member },
      values: values.map(({ upstream, value }) => ({ upstream, value: textOf(partAt(value, path)) })),
    });
    const [oldest] = this.#rows.keys();
    if (this.#rows.size > MAX_DIFFERENCES && oldest !== undefined) this.#rows.delete(oldest);
  }
}

/**
 * Merges the differences that several workers found: equal ones are one, with the sum of their counts.
 * @param lists of each worker  @returns the latest ones first
 */
export function mergeDifferences(lists: readonly (readonly Difference[])[]): Difference[] {
  const merged = new Map<string, Difference>();
  for (const difference of lists.flat()) {
    const name = nameOf(difference);
    const other = merged.get(name);
    const latest = other === undefined || other.at < difference.at ? difference : other;
    merged.set(name, { ...latest, count: difference.count + (other?.count ?? 0) });
  }
  return [...merged.values()].sort((one, other) => (one.at < other.at ? 1 : -1)).slice(0, MAX_DIFFERENCES);
}

export function publicDifference({ at, count, method, reason, upstreams }: Difference): PublicDifference {
  return { at, count, method, reason, upstreams };
}

/** Name that equal differences have in common. */
function nameOf({
  method,
  upstreams,
  reason,
  member,
}: Omit<Difference, 'at' | 'count' | 'block' | 'params' | 'values'>): string {
  // The places of elements in lists differ from call to call.
  return JSON.stringify([method, upstreams, reason, member.replace(/(?<=^|\.)\d+(?=\.|$)/g, '')]);
}

function partAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((part, name) => (isObjectOrList(part) ? part[name] : undefined), value);
}

function isObjectOrList(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) || Array.isArray(value);
}

/** Text of a value, never of a whole object, which may be large. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return `${value.length} elements`;
  if (isObject(value)) return typeof value['hash'] === 'string' ? `hash ${textOf(value['hash'])}` : 'an object';
  return cutText(String(value), MAX_VALUE_LENGTH);
}

function blockNamed({ blockAt }: MethodSpec, params: readonly unknown[]): string | undefined {
  const given = blockAt === undefined ? undefined : params[blockAt.param];
  const { blockNumber, blockHash, toBlock }: Readonly<Record<string, unknown>> = isObject(given) ? given : {};
  const named = blockHash ?? blockNumber ?? toBlock ?? given;
  return typeof named === 'string' ? textOf(named) : undefined;
}
