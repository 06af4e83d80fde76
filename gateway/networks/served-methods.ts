import { LRUCache } from 'lru-cache';
import { maxEntries } from '../config/max-entries.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { passThroughSpec, wildcardFor, type WildcardOptions } from '../spec/method-facts.ts';
import type { NetworkMethod } from '../call/call.ts';

/** Methods of wildcards that are remembered: callers can name any. */
const MAX_OPENED = 500;

/** The methods that a network serves, by its file: names and wildcards. Each is opened at its first call. */
export class ServedMethods {
  readonly #specs: ReadonlyMap<string, MethodSpec>;
  readonly #named = new Map<string, NetworkMethod>();
  readonly #config: WildcardOptions;
  readonly #open: (spec: MethodSpec) => NetworkMethod;
  /** Methods that wildcards opened. */
  readonly #others = new LRUCache<string, NetworkMethod>(maxEntries(MAX_OPENED));

  constructor(named: readonly MethodSpec[], config: WildcardOptions, open: (spec: MethodSpec) => NetworkMethod) {
    this.#specs = new Map(named.map((spec) => [spec.name, spec]));
    this.#config = config;
    this.#open = open;
  }

  get(name: string): NetworkMethod | undefined {
    return this.#named.get(name) ?? this.#others.get(name) ?? this.#openNew(name);
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  #openNew(name: string): NetworkMethod | undefined {
    const named = this.#specs.get(name);
    const wildcard = named === undefined ? wildcardFor(name, this.#config) : undefined;
    if (named === undefined && wildcard === undefined) return undefined;
    const method = this.#open(named ?? passThroughSpec(name, wildcard));
    if (named === undefined) this.#others.set(name, method);
    else this.#named.set(name, method);
    return method;
  }
}
