import { clock } from '../clock/clock.ts';
import { isObject } from '../collections/is-object.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { ShownParams } from './shown-params.ts';

const MAX_DIFFERENCES = 20;
/** A hash of 32 bytes in hexadecimal. */
const MAX_VALUE_LENGTH = 66;

/** What an upstream returned: a result, or the data of a revert. */
export interface UpstreamValue {
  readonly upstream: string;
  readonly value: unknown;
}

/** Results of upstreams that differ, or one that is disproved. It has neither keys nor URLs. */
export interface Difference {
  readonly at: string;
  readonly method: string;
  /** As the call names it; undefined: it names none. */
  readonly block: string | undefined;
  /** As RECENT_CALLS_PARAMS allows. */
  readonly params: string | undefined;
  /** In words: what was found about them. */
  readonly reason: string;
  /** The first member in which they differ; empty: they are no objects or lists. */
  readonly member: string;
  /** At most 66 characters of each value. */
  readonly values: readonly { readonly upstream: string; readonly value: string }[];
}

/** The latest differences between the upstreams of one network, which audits, `agree` and `verify` found. */
export class Differences {
  readonly #params: ShownParams | undefined;
  /** Oldest first. */
  readonly #rows: Difference[] = [];

  constructor(params: ShownParams | undefined) {
    this.#params = params;
  }

  /** The latest ones first. */
  latest(): readonly Difference[] {
    return this.#rows.toReversed();
  }

  add(method: MethodSpec, params: readonly unknown[], reason: string, given: readonly UpstreamValue[]): void {
    const [member, values] = differingPart(given.map(({ value }) => value));
    this.#rows.push({
      at: new Date(clock.unixMs()).toISOString(),
      method: method.name,
      block: blockNamed(method, params),
      params: this.#params?.of(method, params),
      ...{ reason, member },
      values: given.map(({ upstream }, index) => ({ upstream, value: textOf(values[index]) })),
    });
    if (this.#rows.length > MAX_DIFFERENCES) this.#rows.shift();
  }
}

/** The path to the first part in which values differ, as `logs.0.data`, and the parts. */
function differingPart(values: readonly unknown[], path: readonly string[] = []): [string, readonly unknown[]] {
  const [first] = values;
  const others = values.slice(1);
  const isList = values.every((value) => Array.isArray(value) && value.length === (first as unknown[]).length);
  if (others.length > 0 && (isList || values.every((value) => isObject(value)))) {
    for (const name of Object.keys(first as object)) {
      const parts = values.map((value) => (value as Readonly<Record<string, unknown>>)[name]);
      // A member that one of them lacks is not compared.
      if (parts.includes(undefined) || parts.includes(null)) continue;
      if (parts.some((part) => !isEqual(part, parts[0]))) return differingPart(parts, [...path, name]);
    }
  }
  return [path.join('.'), values];
}

/** Nodes write hexadecimal digits in both cases. */
function isEqual(one: unknown, other: unknown): boolean {
  if (typeof one === 'string' && typeof other === 'string') return one.toLowerCase() === other.toLowerCase();
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other;
  const [members, others] = [Object.entries(one), other as Readonly<Record<string, unknown>>];
  return members.length === Object.keys(other).length && members.every(([name, value]) => isEqual(value, others[name]));
}

/** Never the text of a whole object, which may be large. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return `${value.length} elements`;
  if (isObject(value)) return typeof value['hash'] === 'string' ? `hash ${textOf(value['hash'])}` : 'an object';
  const text = String(value);
  return text.length <= MAX_VALUE_LENGTH ? text : `${text.slice(0, MAX_VALUE_LENGTH - 1)}…`;
}

function blockNamed({ blockAt }: MethodSpec, params: readonly unknown[]): string | undefined {
  const given = blockAt === undefined ? undefined : params[blockAt.param];
  const { blockNumber, blockHash, toBlock }: Readonly<Record<string, unknown>> = isObject(given) ? given : {};
  const named = blockHash ?? blockNumber ?? toBlock ?? given;
  return typeof named === 'string' ? textOf(named) : undefined;
}
