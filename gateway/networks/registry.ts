import { causeOf } from '../config/log.ts';
import { LocalChains } from '../local-chain/local-chains.ts';
import { forgetSeries } from '../metrics/forget-series.ts';
import { ReloadMetrics } from '../metrics/reload-metrics.ts';
import { NetworkFinder } from './find-network.ts';
import type { Configuration } from '../network-files/configuration.ts';
import { keepUnchanged } from './keep-unchanged.ts';
import {
  checkFiles,
  NetworkFilesError,
  readFolder,
  formatDiagnostic,
  formatPosition,
} from '../network-files/load-networks.ts';
import type { LoadOptions } from '../network-files/load-options.ts';
import type { NetworkConfig, UpstreamConfig } from '../network-files/network-config.ts';
import { FolderWatcher } from '../network-files/watch-folder.ts';
import { openNetwork, adoptSharedState, type NetworkParts } from './open-network.ts';
import type { Network } from './network.ts';
import type { Upstream } from '../upstreams/upstream.ts';

/** Of a refused folder, so many mistakes are logged and shown: `gatehouse check` tells all of them. */
const MAX_SHOWN_DIAGNOSTICS = 10;

export type RegistryParts = Omit<NetworkParts, 'localChains' | 'openUpstreams'>;

/**
 * The networks that are served, as their files say. When those change they are checked as a whole; then all of the
 * change comes into force between one call and the next, or nothing of it. What did not change is not touched: an
 * upstream keeps its connections, its health and its chain. What is replaced goes on for the calls that have it.
 */
export class NetworkRegistry {
  readonly finder = new NetworkFinder<Network>([]);
  readonly localChains: LocalChains;
  /** Hears of each change, once it is in force. */
  onChange: () => void = () => undefined;
  readonly #parts: NetworkParts;
  readonly #options: LoadOptions;
  readonly #metrics: ReloadMetrics;
  /** Also those that were replaced, until their last call has ended. */
  readonly #open = new Set<Network>();
  #configuration: Configuration = { digest: '', loadedAt: '', refused: null };
  /** Of the files that were looked at last, good or bad. */
  #lastReadDigest = '';
  #watch: FolderWatcher | undefined;
  #queue: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** @param options with the folder that is read again when it changes */
  constructor(parts: RegistryParts, options: LoadOptions) {
    this.localChains = new LocalChains(parts.settings, parts.log);
    this.#parts = { ...parts, localChains: this.localChains, openUpstreams: new Map<UpstreamConfig, Upstream>() };
    this.#options = options;
    this.#metrics = new ReloadMetrics(parts.metrics.registry);
    parts.metrics.routing.watch(() =>
      this.finder.all.flatMap(({ config: { slug }, upstreams }) =>
        upstreams.all.map(({ name, circuit: { state: circuit } }) => ({ network: slug, upstream: name, circuit })),
      ),
    );
  }

  get configuration(): Configuration {
    return this.#configuration;
  }

  /**
   * @param digest of the folder that they were read from
   * @throws NetworkFilesError when none of them can be served
   */
  async open(configs: readonly NetworkConfig[], digest: string): Promise<void> {
    this.#lastReadDigest = digest;
    await this.#activate(configs, digest);
    this.#watch = new FolderWatcher(this.#options.folder, () => void this.reload());
  }

  /**
   * Looks at the files, and takes over what they say if all of it is right. Resolves when that is done; never rejects.
   * @param isManual by a person: then files that did not change are looked at, too, and the log tells of it
   */
  reload(isManual = false): Promise<void> {
    return this.#enqueue(async () => {
      const content = readFolder(this.#options.folder);
      if (content.digest === this.#lastReadDigest && !isManual) return;
      this.#lastReadDigest = content.digest;
      try {
        await this.#activate(checkFiles(content, this.#options), content.digest);
      } catch (error) {
        this.#rejectFiles(error, content.digest);
        await this.#closeUnused();
      }
    });
  }

  /** Lets go of everything. No calls may be under way. */
  async close(): Promise<void> {
    this.#watch?.close();
    this.#isClosed = true;
    await this.#queue;
    for (const { heads } of this.#open) heads.close();
    await Promise.all([...this.#parts.openUpstreams.values()].map((upstream) => upstream.close()));
    await this.localChains.stop();
  }

  async #activate(loaded: readonly NetworkConfig[], digest: string): Promise<void> {
    const { finder } = this;
    const previous = finder.all;
    const configs = keepUnchanged(
      previous.map(({ config }) => config),
      loaded,
    );
    const startable = await this.localChains.start(configs);
    if (startable.length === 0) {
      const lines = [...this.localChains.leftOut, 'no network is left to serve'];
      throw new NetworkFilesError(lines.map((message) => ({ message })));
    }
    const active = startable.map((config) => {
      const existing = finder.get(config.slug);
      return existing?.config === config ? existing : openNetwork(config, this.#parts, existing);
    });
    // Nothing of it can fail from here on.
    for (const network of active) adoptSharedState(network);
    finder.replace(active);
    for (const network of active) this.#open.add(network);
    this.onChange();
    this.#configuration = { digest, loadedAt: new Date().toISOString(), refused: null };
    this.#metrics.applied(previous.length === 0);
    if (previous.length > 0) this.#logChange(previous, active);
    for (const network of previous) if (!active.includes(network)) void this.#retire(network);
  }

  #logChange(previous: readonly Network[], active: readonly Network[]): void {
    const slugs = (networks: readonly Network[]): string[] => networks.map(({ config }) => config.slug);
    const changed = slugs(active.filter((network) => !previous.includes(network)));
    const [previousSlugs, activeSlugs] = [slugs(previous), slugs(active)];
    this.#parts.log.info(
      {
        digest: this.#configuration.digest,
        added: changed.filter((slug) => !previousSlugs.includes(slug)),
        changed: changed.filter((slug) => previousSlugs.includes(slug)),
        removed: previousSlugs.filter((slug) => !activeSlugs.includes(slug)),
      },
      'the network files were read again and are in force',
    );
  }

  #rejectFiles(error: unknown, digest: string): void {
    const all = error instanceof NetworkFilesError ? error.diagnostics : [{ message: 'unforeseen: see the log' }];
    const shown = all.slice(0, MAX_SHOWN_DIAGNOSTICS);
    const more = all.length > shown.length ? [`and ${all.length - shown.length} more`] : [];
    const diagnostics = [...shown.map(formatDiagnostic), ...more];
    const places = [...shown.map(formatPosition), ...more];
    const rejected = { at: new Date().toISOString(), digest, mistakes: diagnostics, places };
    this.#configuration = { ...this.#configuration, refused: rejected };
    this.#metrics.rejected();
    const cause = error instanceof NetworkFilesError ? {} : causeOf(error);
    this.#parts.log.error(
      { mistakes: diagnostics, ...cause },
      'the network files were refused: those read before stay in force',
    );
  }

  /** Ends what only a network that was replaced, or is gone, has made use of: when its last call has ended. */
  async #retire(network: Network): Promise<void> {
    await network.use.whenUnused();
    this.#open.delete(network);
    await this.#enqueue(() => this.#closeUnused(network));
  }

  /** Closes the upstreams that no network has, and forgets what was told of them. */
  async #closeUnused(retired?: Network): Promise<void> {
    const { openUpstreams: opened, metrics, usage } = this.#parts;
    const used = new Set([...this.#open].flatMap(({ config }) => config.upstreams));
    const unused = [...opened].filter(([config]) => !used.has(config));
    for (const [config, upstream] of unused) {
      opened.delete(config);
      await upstream.close();
    }
    await this.localChains.keepOnly(used);
    if (retired === undefined) return;
    if (![...this.#open].some(({ heads }) => heads === retired.heads)) retired.heads.close();
    const { slug, upstreams } = retired.config;
    const open = [...this.#open].filter(({ config }) => config.slug === slug);
    if (open.length === 0) {
      usage.forget(slug);
      await forgetSeries(metrics.registry, { network: slug });
      return;
    }
    const names = open.flatMap(({ config }) => config.upstreams).map(({ name }) => name);
    for (const { name } of upstreams) {
      if (!names.includes(name)) await forgetSeries(metrics.registry, { network: slug, upstream: name });
    }
  }

  /** One thing after the other. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue
      .then(() => (this.#isClosed ? undefined : work()))
      .catch((error: unknown) => {
        this.#parts.log.error(causeOf(error), 'internal error while networks were changed');
      });
    return this.#queue;
  }
}
