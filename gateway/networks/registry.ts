import { existsSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { readAuth, type AuthConfig } from '../auth/tokens/read-auth.ts';
import { clock } from '../clock/clock.ts';
import { causeOf } from '../config/log.ts';
import { chainKey, chainTopics, type ChainEvent, type ChainMessage } from '../chain/chain-peers.ts';
import type { ChainPoller } from '../chain/poller.ts';
import { LocalChains } from './local-chains.ts';
import { removeSeries } from '../metrics/series.ts';
import { NetworkFinder } from './find-network.ts';
import {
  changedFiles,
  checkFiles,
  type FolderContent,
  formatDiagnostic,
  formatPosition,
  NetworkFilesError,
  readFolder,
} from '../network-files/load-networks.ts';
import {
  upstreamIdentity,
  type Configuration,
  type LoadOptions,
  type NetworkConfig,
} from '../network-files/network-config.ts';
import { FolderWatcher } from '../network-files/watch-folder.ts';
import { openNetwork, type NetworkParts, type OpenNetwork } from './network.ts';
import { FILTER_TOPIC, type FilterRequest } from '../subscriptions/filter-peers.ts';
import { POLL_TOPIC, type PollMessage } from '../upstreams/health/own-requests.ts';
import type { Upstream } from '../upstreams/upstream.ts';

/** Diagnostics in the log and on the status page for rejected files; `gatehouse check` prints all. */
const MAX_SHOWN_DIAGNOSTICS = 10;

export type RegistryParts = Omit<NetworkParts, 'localChains' | 'openUpstreams'>;

/**
 * Holds the active networks and reloads them when their files change. The folder is validated as a whole; a change is
 * applied completely between two calls, or not at all. Unchanged upstreams retain connections, circuit state and chain
 * check. A replaced network serves its calls in progress to their end.
 */
export class NetworkRegistry {
  readonly finder = new NetworkFinder<OpenNetwork>([]);
  readonly localChains: LocalChains;
  /** Listener, called after each change of the active files. */
  onChange: (auth: AuthConfig) => void = () => undefined;
  readonly #parts: NetworkParts;
  readonly #options: LoadOptions;
  /** Includes replaced networks until their last call has ended. */
  readonly #open = new Set<OpenNetwork>();
  #configuration: Configuration = { digest: '', loadedAt: '', refused: null };
  /** Facts of the files that were read last, valid or not. */
  #activeContent: Pick<FolderContent, 'files'> = { files: [] };
  #lastRead: Pick<FolderContent, 'version' | 'secretFiles'> = { version: '', secretFiles: [] };
  /** Key set of the active auth.yaml. Undefined without an issuer. */
  #keySet: string | undefined;
  /** The file of another key set, which could not be read. */
  #awaitedKeySet: string | undefined;
  #watch: FolderWatcher | undefined;
  #queue: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** @param options has the folder to watch */
  constructor(parts: RegistryParts, options: LoadOptions) {
    this.localChains = new LocalChains(parts.settings, parts.log, parts.link !== undefined);
    this.#parts = { ...parts, localChains: this.localChains, openUpstreams: new Map<string, Upstream>() };
    this.#options = options;
    parts.link?.on(chainTopics.event, ({ chain, event }: ChainMessage) => {
      this.#chainOf(chain)?.received(event);
    });
    parts.link?.on(chainTopics.state, () =>
      this.finder.all.map(({ config: { slug, chainId }, chain }) => [chainKey(slug, chainId), chain.state]),
    );
    parts.link?.on(FILTER_TOPIC, (request: FilterRequest) => this.finder.get(request.network)?.filters.serve(request));
    parts.link?.on(POLL_TOPIC, ({ network, upstream, failed }: PollMessage) => {
      this.finder
        .get(network)
        ?.router.all.find(({ name }) => name === upstream)
        ?.followPoll(failed);
    });
    parts.metrics.activeUpstreams = () =>
      this.finder.all.flatMap(({ config: { slug }, router, chain }) =>
        router.all.map((upstream) => {
          const { name, circuit, drain, health, isUsed, concurrency, withoutBatches } = upstream;
          const drainedS = drain && Date.parse(drain.at) / 1000;
          const isMeasured = isUsed && !health.isOvertaken(upstream.respondedAt);
          const lag = chain.view.headOf(upstream) === undefined ? undefined : chain.view.lagOf(upstream, clock.now());
          const facts = { network: slug, upstream: name, circuit: circuit.state, drainedS, isMeasured, lag };
          return { ...facts, concurrencyLimit: concurrency.limit, isWithoutBatches: withoutBatches !== undefined };
        }),
      );
  }

  get configuration(): Configuration {
    return this.#configuration;
  }

  /**
   * @param content that the configurations were read from
   * @throws NetworkFilesError if no network can be served
   */
  async open(configs: readonly NetworkConfig[], content: FolderContent): Promise<void> {
    this.#lastRead = content;
    await this.#activate(configs, content);
    this.#watch = new FolderWatcher(this.#options.folder, () => void this.reload(), {
      otherFiles: () => [
        ...this.#lastRead.secretFiles,
        ...(this.#awaitedKeySet === undefined ? [] : [this.#awaitedKeySet]),
      ],
    });
  }

  /** Learns from the other workers what they know of the blocks. From now on, they wait for this one. */
  async join(): Promise<void> {
    const { link } = this.#parts;
    if (link === undefined) return;
    link.join();
    const states = (await link.requestOthers(chainTopics.state, undefined, Infinity)) as [
      chain: string,
      events: ChainEvent[],
    ][][];
    for (const [chain, events] of states.flat()) for (const event of events) this.#chainOf(chain)?.received(event);
  }

  /**
   * Reads the files, and activates them if all are valid. Resolves when this is done; never rejects.
   * @param isManual requested by an operator: also validates and logs files that did not change
   */
  reload(isManual = false): Promise<void> {
    return this.#enqueue(async () => {
      const content = readFolder(this.#options.folder);
      const isChanged = content.version !== this.#lastRead.version;
      this.#lastRead = content;
      const hasKeySet = this.#awaitedKeySet !== undefined && existsSync(this.#awaitedKeySet);
      if (!isChanged && !isManual && !hasKeySet) return;
      try {
        await this.#activate(checkFiles(content, this.#options), content);
      } catch (error) {
        this.#rejectFiles(error, content.digest);
        await this.#closeUnused();
      }
    });
  }

  /** Closes all networks, upstreams and local chains. No call may be in progress. */
  async close(): Promise<void> {
    this.#watch?.close();
    this.#isClosed = true;
    await this.#queue;
    for (const { chain, router } of this.#open) {
      router.options.verifier.close();
      chain.close();
    }
    await Promise.all([...this.#parts.openUpstreams.values()].map((upstream) => upstream.close()));
    await this.localChains.stop();
  }

  #chainOf(key: string): ChainPoller<Upstream> | undefined {
    return this.finder.all.find(({ config: { slug, chainId } }) => chainKey(slug, chainId) === key)?.chain;
  }

  async #activate(loaded: readonly NetworkConfig[], content: FolderContent): Promise<void> {
    const { digest } = content;
    const auth = this.#readAuth(content);
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
    // Nothing after this line can fail.
    for (const network of active) network.adoptSharedState();
    finder.replace(active);
    for (const network of active) this.#open.add(network);
    this.#keySet = auth.issuer?.keySet;
    this.onChange(auth);
    this.#configuration = { digest, loadedAt: new Date(clock.unixMs()).toISOString(), refused: null };
    this.#parts.metrics.filesRead('applied', previous.length === 0);
    if (previous.length > 0) this.#logChange(previous, active, changedFiles(this.#activeContent, content));
    this.#activeContent = content;
    for (const network of previous) if (!active.includes(network)) void this.#retire(network);
  }

  /**
   * Reads auth.yaml. The file of a key set must exist only when `keySet` changes: active keys stay valid while their file cannot
   * be read.
   * @throws NetworkFilesError
   */
  #readAuth(content: FolderContent): AuthConfig {
    this.#awaitedKeySet = undefined;
    const auth = readAuth(content, false);
    const keySet = auth.issuer?.keySet;
    if (keySet === this.#keySet) return auth;
    this.#awaitedKeySet = keySet;
    readAuth(content);
    this.#awaitedKeySet = undefined;
    return auth;
  }

  #logChange(previous: readonly OpenNetwork[], active: readonly OpenNetwork[], files: readonly string[]): void {
    const slugs = (networks: readonly OpenNetwork[]): string[] => networks.map(({ config }) => config.slug);
    const changed = slugs(active.filter((network) => !previous.includes(network)));
    const [previousSlugs, activeSlugs] = [slugs(previous), slugs(active)];
    this.#parts.log.info(
      {
        digest: this.#configuration.digest,
        files,
        added: changed.filter((slug) => !previousSlugs.includes(slug)),
        changed: changed.filter((slug) => previousSlugs.includes(slug)),
        removed: previousSlugs.filter((slug) => !activeSlugs.includes(slug)),
      },
      'network files reloaded: the new configuration is active',
    );
  }

  #rejectFiles(error: unknown, digest: string): void {
    const all = error instanceof NetworkFilesError ? error.diagnostics : [{ message: 'unexpected error: see the log' }];
    const shown = all.slice(0, MAX_SHOWN_DIAGNOSTICS);
    const more = all.length > shown.length ? [`and ${all.length - shown.length} more`] : [];
    const diagnostics = [...shown.map(formatDiagnostic), ...more];
    const places = [...shown.map(formatPosition), ...more];
    const rejected = { at: new Date(clock.unixMs()).toISOString(), digest, mistakes: diagnostics, places };
    this.#configuration = { ...this.#configuration, refused: rejected };
    this.#parts.metrics.filesRead('rejected');
    const cause = error instanceof NetworkFilesError ? {} : causeOf(error);
    this.#parts.log.error({ diagnostics, ...cause }, 'network files rejected: the previous configuration stays active');
  }

  /** Closes what no other network uses, after the last call of a replaced or removed network. */
  async #retire(network: OpenNetwork): Promise<void> {
    await network.use.whenUnused();
    this.#open.delete(network);
    await this.#enqueue(() => this.#closeUnused(network));
  }

  /** Closes the upstreams that no network uses, and removes their metrics. */
  async #closeUnused(retired?: OpenNetwork): Promise<void> {
    const { openUpstreams, metrics, usage } = this.#parts;
    const used = new Set([...this.#open].flatMap(({ config }) => identitiesOf(config)));
    const unused = [...openUpstreams].filter(([identity]) => !used.has(identity));
    for (const [identity, upstream] of unused) {
      openUpstreams.delete(identity);
      await upstream.close();
    }
    await this.localChains.keepOnly(used);
    if (retired === undefined) return;
    retired.router.options.verifier.close();
    const accounts = retired.publicAccess?.accounts;
    if (![...this.#open].some(({ publicAccess }) => publicAccess?.accounts === accounts)) accounts?.close();
    const { config } = retired;
    if (![...this.#open].some(({ chain }) => chain === retired.chain)) retired.chain.close();
    const { slug, upstreams } = config;
    const open = [...this.#open].filter(({ config }) => config.slug === slug);
    const names = open.flatMap(({ config }) => config.upstreams).map(({ name }) => name);
    const removed = upstreams.map(({ name }) => name).filter((name) => !names.includes(name));
    if (open.length === 0) {
      usage.removeNetwork(slug);
      removeSeries(metrics.registry, { network: slug });
      return;
    }
    for (const upstream of removed) removeSeries(metrics.registry, { network: slug, upstream });
  }

  /** Runs reloads and closes one after another. Never rejects. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue
      .then(() => (this.#isClosed ? undefined : work()))
      .catch((error: unknown) => {
        this.#parts.log.error(causeOf(error), 'internal error while the active networks were changed');
      });
    return this.#queue;
  }
}

function identitiesOf(config: NetworkConfig): string[] {
  return config.upstreams.map((upstream) => upstreamIdentity(config, upstream));
}

/** Returns the loaded configurations, with the previous object in place of each equal one: such a network stays open. */
function keepUnchanged(previous: readonly NetworkConfig[], loaded: readonly NetworkConfig[]): NetworkConfig[] {
  return loaded.map((network) => previous.find((existing) => isDeepStrictEqual(existing, network)) ?? network);
}
