import { permitsMethod, routedUpstreams } from '../network-files/methods.ts';
import type { LiveUpstreamOptions, ReplaceableConfig } from '../network-files/network-config.ts';

/** Methods of wildcards are remembered up to this number. Callers can name any. */
const MAX_METHODS = 1_000;

interface RoutedUpstream {
  readonly name: string;
  readonly config: LiveUpstreamOptions;
}

/**
 * The upstreams that may get a method, by `methods` of the upstreams and `route` of the network. Computed once for each
 * method. It does not select: all others have the skip reason `excluded`.
 */
export class PermittedUpstreams<Upstream extends RoutedUpstream> {
  readonly #all: readonly Upstream[];
  readonly #route: ReplaceableConfig['route'];
  /** Rules as they are now: a reload changes the upstreams. */
  readonly #rules: ReadonlyMap<string, LiveUpstreamOptions['methods']>;
  /** Undefined: every upstream may get every method. */
  readonly #candidates: Map<string, readonly Upstream[] | undefined> | undefined;

  /** @param all the open upstreams of the network */
  constructor({ methods, route }: ReplaceableConfig, all: readonly Upstream[]) {
    this.#all = all;
    this.#route = route;
    this.#rules = new Map(all.map(({ name, config }) => [name, config.methods]));
    if (Object.keys(route).length > 0 || all.some(({ config }) => config.methods !== undefined))
      this.#candidates = new Map(methods.map((method) => [method, this.#find(method)]));
  }

  /** The upstreams that may get calls of the method; undefined: all. */
  candidatesOf(method: string): readonly Upstream[] | undefined {
    if (this.#candidates === undefined) return undefined;
    const known = this.#candidates.get(method);
    if (known !== undefined || this.#candidates.has(method)) return known;
    const found = this.#find(method);
    if (this.#candidates.size < MAX_METHODS) this.#candidates.set(method, found);
    return found;
  }

  /** The upstreams that may get requests of Gatehouse itself. `route` is for calls. */
  sourcesOf(method: string): readonly Upstream[] {
    return this.#all.filter(({ name }) => permitsMethod(this.#rules.get(name), method));
  }

  #find(method: string): readonly Upstream[] | undefined {
    const routed = routedUpstreams(method, this.#route);
    const found = this.sourcesOf(method).filter(({ name }) => routed?.includes(name) !== false);
    return found.length === this.#all.length ? undefined : found;
  }
}
