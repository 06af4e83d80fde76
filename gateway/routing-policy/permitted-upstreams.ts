import { permitsMethod, routedUpstreams } from '../network-files/methods.ts';
import type { LiveUpstreamOptions, ReplaceableConfig } from '../network-files/network-config.ts';

interface RoutedUpstream {
  readonly name: string;
  readonly config: LiveUpstreamOptions;
}

/**
 * The upstreams that may get a method, by `methods` of the upstreams and `route` of the network. It does not select: all others
 * have the skip reason `excluded`.
 */
export class PermittedUpstreams<Upstream extends RoutedUpstream> {
  readonly #all: readonly Upstream[];
  readonly #route: ReplaceableConfig['route'];
  /** Rules as they are now: a reload changes the upstreams. */
  readonly #rules: ReadonlyMap<string, LiveUpstreamOptions['methods']>;
  /** Whether every upstream may get every method. */
  readonly #permitsAll: boolean;

  /** @param all the open upstreams of the network */
  constructor({ route }: Pick<ReplaceableConfig, 'route'>, all: readonly Upstream[]) {
    this.#all = all;
    this.#route = route;
    this.#rules = new Map(all.map(({ name, config }) => [name, config.methods]));
    this.#permitsAll = Object.keys(route).length === 0 && all.every(({ config }) => config.methods === undefined);
  }

  /** The upstreams that may get calls of the method; undefined: all. Computed each time, so calls use the list of `rulesOf`. */
  candidatesOf(method: string): readonly Upstream[] | undefined {
    if (this.#permitsAll) return undefined;
    const routed = routedUpstreams(method, this.#route);
    const found = this.sourcesOf(method).filter(({ name }) => routed?.includes(name) !== false);
    return found.length === this.#all.length ? undefined : found;
  }

  /** The upstreams that may get requests of Gatehouse itself. `route` is for calls. */
  sourcesOf(method: string): readonly Upstream[] {
    return this.#all.filter(({ name }) => permitsMethod(this.#rules.get(name), method));
  }
}
