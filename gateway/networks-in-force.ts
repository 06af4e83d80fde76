import { causeOf } from './config/log.ts';
import { LocalChains } from './local-chain/local-chains.ts';
import { forgetSeries } from './metrics/forget-series.ts';
import { ReloadMeters } from './metrics/reload-meters.ts';
import { NetworkFinder } from './network/find-network.ts';
import type { Configuration } from './network/configuration.ts';
import { keepUnchanged } from './network/keep-unchanged.ts';
import {
  checkFiles,
  NetworkFilesError,
  readFolder,
  writeMistake,
  writePlace,
  type LoadOptions,
} from './network/load-networks.ts';
import type { NetworkConfig, UpstreamConfig } from './network/network-config.ts';
import { FolderWatch } from './network/watch-folder.ts';
import { serveNetwork, takeOver, type ServeParts } from './serve-network.ts';
import type { ServedNetwork } from './served-network.ts';
import type { Upstream } from './upstream/upstream.ts';

/** Of a refused folder, so many mistakes are logged and shown: `gatehouse check` tells all of them. */
const MISTAKES_SHOWN = 10;

export type InForceParts = Omit<ServeParts, 'localChains' | 'opened'>;

/**
 * The networks that are served, as their files say. When those change they are checked as a whole; then all of the
 * change comes into force between one call and the next, or nothing of it. What did not change is not touched: an
 * upstream keeps its connections, its health and its chain. What is replaced goes on for the calls that have it.
 */
export class NetworksInForce {
  readonly finder = new NetworkFinder<ServedNetwork>([]);
  readonly localChains: LocalChains;
  /** Hears of each change, once it is in force. */
  onChange: () => void = () => undefined;
  readonly #parts: ServeParts;
  readonly #options: LoadOptions;
  readonly #meters: ReloadMeters;
  /** Also those that were replaced, until their last call has ended. */
  readonly #alive = new Set<ServedNetwork>();
  #configuration: Configuration = { digest: '', loadedAt: '', refused: null };
  /** Of the files that were looked at last, good or bad. */
  #lookedAt = '';
  #watch: FolderWatch | undefined;
  #turn: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** @param options with the folder that is read again when it changes */
  constructor(parts: InForceParts, options: LoadOptions) {
    this.localChains = new LocalChains(parts.settings, parts.log);
    this.#parts = { ...parts, localChains: this.localChains, opened: new Map<UpstreamConfig, Upstream>() };
    this.#options = options;
    this.#meters = new ReloadMeters(parts.metrics.registry);
    parts.metrics.routing.watch(() =>
      this.finder.all.flatMap(({ config: { slug }, upstreams }) =>
        upstreams.all.map(({ name, health: { breaker } }) => ({ network: slug, upstream: name, breaker })),
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
    this.#lookedAt = digest;
    await this.#put(configs, digest);
    this.#watch = new FolderWatch(this.#options.folder, () => void this.reload());
  }

  /**
   * Looks at the files, and takes over what they say if all of it is right. Resolves when that is done; never rejects.
   * @param isAsked by a person: then files that did not change are looked at, too, and the log tells of it
   */
  reload(isAsked = false): Promise<void> {
    return this.#inTurn(async () => {
      const content = readFolder(this.#options.folder);
      if (content.digest === this.#lookedAt && !isAsked) return;
      this.#lookedAt = content.digest;
      try {
        await this.#put(checkFiles(content, this.#options), content.digest);
      } catch (error) {
        this.#refuse(error, content.digest);
        await this.#letGo();
      }
    });
  }

  /** Lets go of everything. No calls may be under way. */
  async close(): Promise<void> {
    this.#watch?.close();
    this.#isClosed = true;
    await this.#turn;
    for (const { heads } of this.#alive) heads.close();
    await Promise.all([...this.#parts.opened.values()].map((upstream) => upstream.close()));
    await this.localChains.stop();
  }

  async #put(read: readonly NetworkConfig[], digest: string): Promise<void> {
    const { finder } = this;
    const before = finder.all;
    const configs = keepUnchanged(
      before.map(({ config }) => config),
      read,
    );
    const served = await this.localChains.start(configs);
    if (served.length === 0) {
      const lines = [...this.localChains.leftOut, 'no network is left to serve'];
      throw new NetworkFilesError(lines.map((message) => ({ message })));
    }
    const after = served.map((config) => {
      const old = finder.named(config.slug);
      return old?.config === config ? old : serveNetwork(config, this.#parts, old);
    });
    // Nothing of it can fail from here on.
    for (const network of after) takeOver(network);
    finder.replace(after);
    for (const network of after) this.#alive.add(network);
    this.onChange();
    this.#configuration = { digest, loadedAt: new Date().toISOString(), refused: null };
    this.#meters.applied(before.length === 0);
    if (before.length > 0) this.#tell(before, after);
    for (const network of before) if (!after.includes(network)) void this.#retire(network);
  }

  #tell(before: readonly ServedNetwork[], after: readonly ServedNetwork[]): void {
    const slugs = (networks: readonly ServedNetwork[]): string[] => networks.map(({ config }) => config.slug);
    const fresh = slugs(after.filter((network) => !before.includes(network)));
    const [was, is] = [slugs(before), slugs(after)];
    this.#parts.log.info(
      {
        digest: this.#configuration.digest,
        added: fresh.filter((slug) => !was.includes(slug)),
        changed: fresh.filter((slug) => was.includes(slug)),
        removed: was.filter((slug) => !is.includes(slug)),
      },
      'the network files were read again and are in force',
    );
  }

  #refuse(error: unknown, digest: string): void {
    const told = error instanceof NetworkFilesError ? error.mistakes : [{ message: 'unforeseen: see the log' }];
    const shown = told.slice(0, MISTAKES_SHOWN);
    const more = told.length > shown.length ? [`and ${told.length - shown.length} more`] : [];
    const mistakes = [...shown.map(writeMistake), ...more];
    const places = [...shown.map(writePlace), ...more];
    const refused = { at: new Date().toISOString(), digest, mistakes, places };
    this.#configuration = { ...this.#configuration, refused };
    this.#meters.refused();
    const cause = error instanceof NetworkFilesError ? {} : causeOf(error);
    this.#parts.log.error({ mistakes, ...cause }, 'the network files were refused: those read before stay in force');
  }

  /** Ends what only a network that was replaced, or is gone, has made use of: when its last call has ended. */
  async #retire(network: ServedNetwork): Promise<void> {
    await network.use.ended();
    this.#alive.delete(network);
    await this.#inTurn(() => this.#letGo(network));
  }

  /** Closes the upstreams that no network has, and forgets what was told of them. */
  async #letGo(retired?: ServedNetwork): Promise<void> {
    const { opened, metrics, usage } = this.#parts;
    const kept = new Set([...this.#alive].flatMap(({ config }) => config.upstreams));
    const loose = [...opened].filter(([config]) => !kept.has(config));
    for (const [config, upstream] of loose) {
      opened.delete(config);
      await upstream.close();
    }
    await this.localChains.keepOnly(kept);
    if (retired === undefined) return;
    if (![...this.#alive].some(({ heads }) => heads === retired.heads)) retired.heads.close();
    const { slug, upstreams } = retired.config;
    const alive = [...this.#alive].filter(({ config }) => config.slug === slug);
    if (alive.length === 0) {
      usage.forget(slug);
      await forgetSeries(metrics.registry, { network: slug });
      return;
    }
    const names = alive.flatMap(({ config }) => config.upstreams).map(({ name }) => name);
    for (const { name } of upstreams) {
      if (!names.includes(name)) await forgetSeries(metrics.registry, { network: slug, upstream: name });
    }
  }

  /** One thing after the other. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn
      .then(() => (this.#isClosed ? undefined : work()))
      .catch((error: unknown) => {
        this.#parts.log.error(causeOf(error), 'internal error while networks were changed');
      });
    return this.#turn;
  }
}
