import { readFile } from 'node:fs/promises';
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose';
import { clock, type Timer } from '../../clock/clock.ts';
import { errorCode, type Log } from '../../config/log.ts';
import { jose } from './jose.ts';
import { isUrl } from './read-auth.ts';

const URL_REFRESH_MS = 300_000;
const FILE_REFRESH_MS = 1_000;
/** A token with an unknown `kid` causes one read in this time: anybody can send one. */
const COOLDOWN_MS = 10_000;
const FETCH_TIMEOUT_MS = 5_000;
const MAX_BYTES = 1_000_000;

/** The key set cannot be read. */
export class KeySetUnavailable extends Error {
  override readonly name = 'KeySetUnavailable';
}

/**
 * The public keys of a token issuer, from a URL or a file. They are read in the background, and at once for an unknown `kid`.
 * A `createRemoteJWKSet` of jose would read them for each such token while the issuer is down, and keep removed keys.
 */
export class IssuerKeys {
  readonly #read: () => Promise<string>;
  readonly #maxAgeMs: number;
  readonly #log: Log;
  readonly #timer: Timer;
  #keys: JWTVerifyGetKey | undefined;
  /** JSON of each key, sorted: servers return them in changing order. */
  #sorted: string | undefined;
  #loadedAt = -Infinity;
  #triedAt = -Infinity;
  #isFailing = false;
  #loading: Promise<void> | undefined;

  /** @param staleMaxMs for this time keys stay valid while the URL fails; those of a file stay valid */
  constructor(keySet: string, staleMaxMs: number, log: Log) {
    const isAtUrl = isUrl(keySet);
    this.#read = isAtUrl ? () => fetchText(keySet) : () => readFile(keySet, 'utf8');
    this.#maxAgeMs = isAtUrl ? URL_REFRESH_MS + staleMaxMs : Infinity;
    this.#log = log;
    const refreshMs = isAtUrl ? URL_REFRESH_MS : FILE_REFRESH_MS;
    this.#timer = clock.setInterval(() => void this.#load().catch(() => undefined), refreshMs).unref();
    void this.#load().catch(() => undefined);
  }

  /** The keys: another object after each change. Undefined: none can be had. */
  current(): JWTVerifyGetKey | undefined {
    return clock.now() - this.#loadedAt < this.#maxAgeMs ? this.#keys : undefined;
  }

  /**
   * Reads the keys again for a token that none of them fits.
   * @returns false: they were read less than 10 s ago
   * @throws KeySetUnavailable (rejects with it), at once for 10 s after a failure
   */
  async refresh(): Promise<boolean> {
    if (this.#loading === undefined && clock.now() - this.#triedAt < COOLDOWN_MS) {
      if (this.#isFailing) throw new KeySetUnavailable();
      return false;
    }
    await this.#load();
    return true;
  }

  close(): void {
    clock.clearInterval(this.#timer);
  }

  /** @throws KeySetUnavailable (rejects with it) */
  #load(): Promise<void> {
    return (this.#loading ??= this.#loadNow().finally(() => {
      this.#loading = undefined;
    }));
  }

  async #loadNow(): Promise<void> {
    this.#triedAt = clock.now();
    try {
      this.#use(JSON.parse(await this.#read()) as JSONWebKeySet);
      this.#loadedAt = this.#triedAt;
      if (this.#isFailing) this.#log.info('the keys of the token issuer can be read again');
      this.#isFailing = false;
    } catch (cause) {
      if (!this.#isFailing) {
        this.#log.warn(
          { error: errorCode(cause) },
          'the keys of the token issuer cannot be read: the keys before are used',
        );
      }
      this.#isFailing = true;
      throw new KeySetUnavailable(undefined, { cause });
    }
  }

  /** @throws Error if it is no key set */
  #use(keySet: JSONWebKeySet): void {
    const keys = jose().createLocalJWKSet(keySet);
    const sorted = keySet.keys.map((key) => JSON.stringify(key)).sort();
    if (sorted.join() !== this.#sorted) this.#keys = keys;
    this.#sorted = sorted.join();
  }
}

/** Does not follow redirects: the keys decide who may call. */
async function fetchText(url: string): Promise<string> {
  const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).length;
    if (bytes > MAX_BYTES) throw new Error('the key set is too large');
    chunks.push(chunk as Uint8Array);
  }
  if (response.status !== 200) throw new Error(`the key set has the status ${response.status}`);
  return Buffer.concat(chunks).toString();
}
