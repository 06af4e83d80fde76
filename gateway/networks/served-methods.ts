import { LRUCache } from 'lru-cache';
import { maxEntries } from '../config/max-entries.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { passThroughSpec, wildcardFor, type WildcardOptions } from '../spec/method-facts.ts';
import type { NetworkMethod } from '../call/network.ts';

/** Methods of wildcards that are remembered: callers can name any. */
const MAX_OPENED = 500;

/** The methods that a network serves: those that its file names, and those that its wildcards open, at their first call. */
export class ServedMethods {
  readonly #named: ReadonlyMap<string, NetworkMethod>;
  readonly #config: WildcardOptions;
  readonly #open: (spec: MethodSpec) => NetworkMethod;
  /** Undefined: there are no wildcards. */
  readonly #opened: LRUCache<string, NetworkMethod> | undefined;

  /** @param open builds the method of a spec, also of one that a wildcard opens */
  constructor(named: readonly MethodSpec[], config: WildcardOptions, open: (spec: MethodSpec) => NetworkMethod) {
    this.#named = new Map(named.map((spec) => [spec.name, open(spec)]));
    this.#config = config;
    this.#open = open;
    const { openMethods, developmentMethods } = config;
    if (openMethods.wildcards.length + developmentMethods.length > 0)
      this.#opened = new LRUCache(maxEntries(MAX_OPENED));
  }

  get(name: string): NetworkMethod | undefined {
    return this.#named.get(name) ?? (this.#opened && this.#openedBy(name, this.#opened));
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  #openedBy(name: string, opened: LRUCache<string, NetworkMethod>): NetworkMethod | undefined {
    const known = opened.get(name);
    if (known !== undefined) return known;
    const wildcard = wildcardFor(name, this.#config);
    if (wildcard === undefined) return undefined;
    const method = this.#open(passThroughSpec(name, wildcard));
    opened.set(name, method);
    return method;
  }
}
