import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { withFileLock } from '../auth/stores/file-lock.ts';
import { KeyStoreError } from '../auth/stores/key-store.ts';
import { makePrivateFolderFor, writePrivateFile } from '../auth/stores/private-file.ts';
import { storeUnreachable } from '../auth/stores/redis-unreachable.ts';
import { keyFileVersion } from '../auth/stores/key-file.ts';
import { clock } from '../clock/clock.ts';
import { isObject } from '../collections/is-object.ts';
import { errorCode, type Log } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import { RedisLink } from '../redis/link.ts';
import { parseRedisUrl } from '../redis/url.ts';

/** An operator has taken an upstream out of service. */
export interface Drain {
  /** Slug of the network. */
  readonly network: string;
  readonly upstream: string;
  /** ISO 8601. */
  readonly at: string;
  /** As in the audit log. */
  readonly by: string;
  /** ISO 8601; absent: until an operator ends it. */
  readonly until?: string;
}

/** @param forMs undefined: until an operator ends it */
export function newDrain(network: string, upstream: string, by: string, forMs: number | undefined): Drain {
  const now = clock.unixMs();
  const until = forMs === undefined ? {} : { until: new Date(now + forMs).toISOString() };
  return { network, upstream, at: new Date(now).toISOString(), by, ...until };
}

/** Stores the drained upstreams for all gateways. */
export interface DrainStore {
  /** For operators: `in Redis (REDIS_URL)`. */
  readonly location: string;
  /** Those that have not ended. @throws KeyStoreError (rejects with it) */
  read(): Promise<readonly Drain[]>;
  /** Adds or replaces the drain of an upstream. @throws KeyStoreError (rejects with it) */
  set(drain: Drain): Promise<void>;
  /** @returns whether the upstream was drained @throws KeyStoreError (rejects with it) */
  remove(network: string, upstream: string): Promise<boolean>;
  waitUntilReady(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

/** Opens the store: Redis if REDIS_URL is set, else a file in DATA_DIR. @throws SettingsError for a malformed REDIS_URL */
export function openDrainStore(
  { REDIS_URL: url, DATA_DIR }: Pick<Settings, 'REDIS_URL' | 'DATA_DIR'>,
  log: Log,
): DrainStore {
  return url === undefined
    ? new FileDrainStore(DATA_DIR)
    : new RedisDrainStore(new RedisLink({ purpose: 'drains', address: parseRedisUrl(url), log }));
}

/** `drains.json` under DATA_DIR: an array of drains. */
class FileDrainStore implements DrainStore {
  readonly location: string;
  readonly #path: string;
  #version: string | undefined;
  #drains: readonly Drain[] = [];

  constructor(dataDir: string) {
    this.#path = join(dataDir, 'drains.json');
    this.location = `in ${resolve(this.#path)}`;
  }

  read(): Promise<readonly Drain[]> {
    return new Promise((done) => {
      done(active(this.#load()));
    });
  }

  async set(drain: Drain): Promise<void> {
    await this.#change((drains) => [...drains.filter((other) => !isSame(other, drain)), drain]);
  }

  async remove(network: string, upstream: string): Promise<boolean> {
    let isFound = false;
    await this.#change((drains) =>
      drains.filter((drain) => {
        const isRemoved = isSame(drain, { network, upstream });
        isFound ||= isRemoved;
        return !isRemoved;
      }),
    );
    return isFound;
  }

  waitUntilReady(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #change(edit: (drains: readonly Drain[]) => readonly Drain[]): Promise<void> {
    makePrivateFolderFor(this.#path);
    await withFileLock(`${this.#path}.lock`, () => {
      writePrivateFile(this.#path, `${JSON.stringify(edit(active(this.#load())), undefined, 2)}\n`);
    });
  }

  /** Reads the file again only if it has changed. @throws KeyStoreError */
  #load(): readonly Drain[] {
    const version = keyFileVersion(this.#path);
    if (version === this.#version) return this.#drains;
    const drains = version === 'none' ? [] : parseFile(this.#path);
    this.#version = version;
    return (this.#drains = drains);
  }
}

const REDIS_KEY = 'gatehouse:drains';

/** A hash: the field is `<network> <upstream>`, the value the drain as JSON. */
class RedisDrainStore implements DrainStore {
  readonly location = 'in Redis (REDIS_URL)';
  readonly #link: RedisLink;

  constructor(link: RedisLink) {
    this.#link = link;
  }

  async read(): Promise<readonly Drain[]> {
    const hash = await this.#run(() => this.#link.redis.hgetall(REDIS_KEY));
    return active(
      Object.values(hash).flatMap((text) => {
        try {
          const value: unknown = JSON.parse(text);
          return isDrain(value) ? [value] : [];
        } catch {
          return [];
        }
      }),
    );
  }

  async set(drain: Drain): Promise<void> {
    await this.#run(() => this.#link.redis.hset(REDIS_KEY, fieldOf(drain), JSON.stringify(drain)));
  }

  async remove(network: string, upstream: string): Promise<boolean> {
    return (await this.#run(() => this.#link.redis.hdel(REDIS_KEY, fieldOf({ network, upstream })))) > 0;
  }

  async waitUntilReady(timeoutMs: number): Promise<void> {
    await this.#link.waitUntilUp(timeoutMs);
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  async #run<Result>(command: () => Promise<Result>): Promise<Result> {
    try {
      return await command();
    } catch (error) {
      throw storeUnreachable(this.#link.reportFailure(error));
    }
  }
}

type DrainPlace = Pick<Drain, 'network' | 'upstream'>;

function fieldOf({ network, upstream }: DrainPlace): string {
  return `${network} ${upstream}`;
}

function isSame(one: DrainPlace, other: DrainPlace): boolean {
  return one.network === other.network && one.upstream === other.upstream;
}

/** Without those that have ended. */
function active(drains: readonly Drain[]): Drain[] {
  return drains.filter(({ until }) => until === undefined || Date.parse(until) > clock.unixMs());
}

function parseFile(path: string): Drain[] {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    if (error instanceof SyntaxError) throw invalidFile(path);
    throw new KeyStoreError(`${path} cannot be read (${errorCode(error)})`);
  }
  if (!Array.isArray(value) || !value.every(isDrain)) throw invalidFile(path);
  return value;
}

function invalidFile(path: string): KeyStoreError {
  return new KeyStoreError(`${path} is invalid: expected a JSON array of drains; remove the file to end all drains`);
}

function isDrain(value: unknown): value is Drain {
  if (!isObject(value)) return false;
  const { network, upstream, at, by, until } = value;
  const areTexts = [network, upstream, at, by].every((each) => typeof each === 'string');
  return areTexts && (until === undefined || (typeof until === 'string' && !Number.isNaN(Date.parse(until))));
}
