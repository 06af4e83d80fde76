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

interface KeySetSource {
  /** The key set as JSON. */
  readonly read: () => Promise<string>;
  readonly refreshMs: number;
  /** For this time keys stay valid while the source cannot be read. */
  readonly staleMaxMs: number;
}

/** The public keys of a token issuer. They are read again in the background, and at once for an unknown `kid`. */
export class IssuerKeys {
  readonly #source: KeySetSource;
  readonly #log: Log;
  readonly #timer: Timer;
  #keys: ReadonlyMap<string, JWTVerifyGetKey> | undefined;
  #text = '';
  #loadedAt = -Infinity;
  #triedAt = -Infinity;
  #isFailing = false;
  #loading: Promise<void> | undefined;

  constructor(source: KeySetSource, log: Log) {
    this.#source = source;
    this.#log = log;
    this.#timer = clock.setInterval(() => void this.load().catch(() => undefined), source.refreshMs).unref();
  }

  /** The keys by what identifies each. A key that is not there any more verifies nothing. Undefined: none can be had. */
  current(): ReadonlyMap<string, JWTVerifyGetKey> | undefined {
    const isStale = clock.now() - this.#loadedAt >= this.#source.refreshMs + this.#source.staleMaxMs;
    return isStale ? undefined : this.#keys;
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
    await this.load();
    return true;
  }

  /** @throws KeySetUnavailable (rejects with it) */
  load(): Promise<void> {
    return (this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    }));
  }

  close(): void {
    clock.clearInterval(this.#timer);
  }

  async #load(): Promise<void> {
    this.#triedAt = clock.now();
    try {
      const text = await this.#source.read();
      if (text !== this.#text) this.#keys = await keysIn(text);
      this.#text = text;
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
}

/**
 * Opens the keys at a URL or in a file, which are read at once.
 * @param staleMaxMs for this time keys stay valid while the URL fails; those of a file stay valid
 */
export function openIssuerKeys(keySet: string, staleMaxMs: number, log: Log): IssuerKeys {
  const source = isUrl(keySet)
    ? { read: () => fetchText(keySet), refreshMs: URL_REFRESH_MS, staleMaxMs }
    : { read: () => readFile(keySet, 'utf8'), refreshMs: FILE_REFRESH_MS, staleMaxMs: Infinity };
  const keys = new IssuerKeys(source, log);
  void keys.load().catch(() => undefined);
  return keys;
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

/** Keys of an unknown type are skipped. @throws errors of JSON and jose for what is no key set */
async function keysIn(text: string): Promise<Map<string, JWTVerifyGetKey>> {
  const { calculateJwkThumbprint, createLocalJWKSet } = jose();
  const found = new Map<string, JWTVerifyGetKey>();
  for (const key of createLocalJWKSet(JSON.parse(text) as JSONWebKeySet).jwks().keys) {
    const thumbprint = await calculateJwkThumbprint(key).catch(() => undefined);
    if (thumbprint === undefined) continue;
    found.set(JSON.stringify([thumbprint, key.kid, key.alg]), createLocalJWKSet({ keys: [key] }));
  }
  return found;
}
