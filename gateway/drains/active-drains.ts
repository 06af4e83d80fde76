import { clock, type Timer } from '../clock/clock.ts';
import { causeOf, type Log } from '../config/log.ts';
import { StoreError } from '../store/store-error.ts';
import type { Store } from '../store/store.ts';
import { readDrains, removeDrain, storeDrain, type Drain } from './drains.ts';

/** All gateways follow a change within this time. */
const POLL_INTERVAL_MS = 1_000;

/** A network whose upstreams can be drained. */
export interface DrainableNetwork {
  readonly config: { readonly slug: string };
  readonly router: { readonly all: readonly { readonly name: string; drain: Drain | undefined }[] };
  /** Listener, called after upstreams were drained or returned. */
  followDrains(): void;
}

/**
 * Reads the store each second, and marks the upstreams of the active networks. While the store cannot be read, no drain begins,
 * and a drain ends only at its `until`.
 */
export class ActiveDrains {
  readonly #store: Store;
  readonly #log: Log;
  readonly #networks: () => readonly DrainableNetwork[];
  readonly #tellOthers: () => Promise<unknown>;
  #drains: readonly Drain[] = [];
  #reading: Promise<void> | undefined;
  #timer: Timer | undefined;
  #hasLoggedFailure = false;

  /** @param tellOthers the other workers call `follow`: any of them may get the next request */
  constructor(
    store: Store,
    networks: () => readonly DrainableNetwork[],
    log: Log,
    tellOthers: () => Promise<unknown> = () => Promise.resolve(),
  ) {
    this.#tellOthers = tellOthers;
    this.#store = store;
    this.#networks = networks;
    this.#log = log;
  }

  get all(): readonly Drain[] {
    return this.#drains;
  }

  /** Reads the store before the first call, and from then on each second. */
  async open(): Promise<void> {
    await this.read();
    this.#timer = clock.setInterval(() => void this.read(), POLL_INTERVAL_MS).unref();
  }

  /** Reads the drains, and never rejects. */
  read(): Promise<void> {
    return (this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    }));
  }

  /** Reads the store after a change. A read in progress may have begun before. */
  async follow(): Promise<void> {
    await this.#reading;
    await this.read();
  }

  async add(drain: Drain): Promise<void> {
    await storeDrain(this.#store, drain);
    await Promise.all([this.follow(), this.#tellOthers()]);
  }

  /** @returns whether the upstream was drained */
  async remove(network: string, upstream: string): Promise<boolean> {
    const isFound = await removeDrain(this.#store, network, upstream);
    await Promise.all([this.follow(), this.#tellOthers()]);
    return isFound;
  }

  /** Marks the upstreams of all networks, also of new ones. */
  apply(): void {
    for (const network of this.#networks()) {
      let isChanged = false;
      for (const upstream of network.router.all) {
        const drain = this.#drainOf(network.config.slug, upstream.name);
        if ((drain === undefined) !== (upstream.drain === undefined)) {
          isChanged = true;
          const fields = { network: network.config.slug, upstream: upstream.name };
          if (drain === undefined) this.#log.info(fields, 'the upstream is not drained any more');
          else this.#log.warn({ ...fields, until: drain.until, by: drain.by }, 'the upstream is drained');
        }
        upstream.drain = drain;
      }
      if (isChanged) network.followDrains();
    }
  }

  async close(): Promise<void> {
    clock.clearInterval(this.#timer);
    await this.#reading;
  }

  #drainOf(network: string, upstream: string): Drain | undefined {
    return this.#drains.find((drain) => drain.network === network && drain.upstream === upstream);
  }

  async #read(): Promise<void> {
    try {
      this.#drains = await readDrains(this.#store);
      this.#hasLoggedFailure = false;
    } catch (error) {
      if (!this.#hasLoggedFailure) {
        const reason = error instanceof StoreError ? { error: error.message } : causeOf(error);
        this.#log.warn(reason, 'the drained upstreams cannot be read: they stay as they are');
      }
      this.#hasLoggedFailure = true;
      // A drain with an end may be over.
      this.#drains = this.#drains.filter(({ until }) => until === undefined || Date.parse(until) > clock.unixMs());
    }
    this.apply();
  }
}
