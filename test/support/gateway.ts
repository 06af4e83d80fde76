import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openGateway, type Gateway } from '../../gateway/server/app.ts';
import { openLog, type Log } from '../../gateway/config/log.ts';
import { processBounds, type ProcessBounds } from '../../gateway/config/process-bounds.ts';
import { readSettings } from '../../gateway/config/settings.ts';
import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import type { KeyStore } from '../../gateway/auth/stores/key-store.ts';
import type { WorkerLink } from '../../gateway/workers/worker-link.ts';
import { scenarioPause } from './scenario-pause.ts';
import { makeFolderInMemory } from './folder-in-memory.ts';

export interface TestGateway {
  readonly gateway: Gateway;
  /** `http://127.0.0.1:<port>` */
  readonly address: string;
  /** A valid key without restrictions. */
  readonly key: string;
  readonly dataDir: string;
  /** Folder of the network files. */
  readonly folder: string;
  /** Replaces network files atomically by rename, as editors do. Removes those that are undefined. */
  save(networks: Record<string, string | object | undefined>): void;
  /** `<address>/<slug>/v3/<key>` */
  url(slug: string): string;
  /** Posts a body unchanged. */
  post(slug: string, body: string, headers?: Record<string, string>): Promise<Response>;
  /** Posts one call and parses the response. */
  call(slug: string, method: string, params?: unknown, id?: unknown): Promise<JsonRpcResponse>;
  stop(): Promise<void>;
}

export interface JsonRpcResponse {
  readonly jsonrpc: '2.0';
  readonly id: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** A response of Redis takes longer than the default 100 ms on a loaded machine. Then limits would be counted in memory. */
export const patient = { LIMITS_TIMEOUT_MS: '20000' };
/** The default, for tests of a Redis that does not respond. */
export const impatient = { LIMITS_TIMEOUT_MS: '100' };

/**
 * Adds a key, and waits until that is reported: a report that comes later makes the gateway forget the key, which a test
 * that kills Redis then misses.
 */
async function addKey(keys: KeyStore, key: string): Promise<void> {
  const reported = reportOf(keys, key);
  await keys.add(digestOf(key), { name: 'test', createdAt: new Date().toISOString() });
  await reported;
}

/** Resolves when a change of the key is reported, or after a second: not each store reports changes of this process. */
export async function reportOf(keys: KeyStore, key: string): Promise<void> {
  const reported = new Promise<void>((resolve) => {
    keys.onChange((changed) => {
      if (changed === digestOf(key)) resolve();
    });
  });
  await Promise.race([reported, scenarioPause(1_000)]);
}

/** @throws Error for a name that is neither a bound nor a setting or value */
function boundsIn(env: Readonly<Record<string, string>>): ProcessBounds {
  const unknown = Object.keys(env).find((name) => !/^[A-Z0-9_]+$/.test(name) && !Object.hasOwn(processBounds, name));
  if (unknown !== undefined) throw new Error(`${unknown} is no bound of the process`);
  const given = Object.entries(env).filter(([name]) => Object.hasOwn(processBounds, name));
  return { ...processBounds, ...Object.fromEntries(given.map(([name, value]) => [name, Number(value)])) };
}

/**
 * Starts a gateway in this process on a free port, with one key.
 * @param networks network files by slug, as YAML text or as an object that is written as JSON
 * @param env settings, values for `${NAME}` in network files, and bounds of the process by name: `requestsMax`
 * @param log defaults to a log at LOG_LEVEL on standard error
 * @param link of one of several workers in this process
 */
export async function startGateway(
  networks: Record<string, string | object>,
  env: Record<string, string> = {},
  log?: Log,
  link?: WorkerLink,
): Promise<TestGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
  const memory = makeFolderInMemory('gatehouse-test-');
  const dataDir = join(memory, 'data');
  const save: TestGateway['save'] = (files) => {
    for (const [slug, file] of Object.entries(files)) {
      const path = join(folder, `${slug}.yaml`);
      if (file === undefined) {
        rmSync(path);
        continue;
      }
      writeFileSync(`${path}~`, typeof file === 'string' ? file : JSON.stringify(file));
      renameSync(`${path}~`, path);
    }
  };
  save(networks);
  const defaults = { PORT: '0', NETWORKS_DIR: folder, DATA_DIR: dataDir, LOG_LEVEL: 'silent', ...patient };
  const settings = readSettings({ ...defaults, ...env });
  const key = makeKey();
  const own = log ?? openLog(settings.LOG_LEVEL);
  const gateway = await openGateway(settings, env, own, link, boundsIn(env)).catch((error: unknown) => {
    for (const made of [folder, memory]) rmSync(made, { recursive: true, force: true });
    throw error;
  });
  await addKey(gateway.keys, key).catch(() => undefined);

  const address = `http://127.0.0.1:${gateway.port}`;
  const url = (slug: string): string => `${address}/${slug}/v3/${key}`;
  const post = (slug: string, body: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(url(slug), { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });
  return {
    gateway,
    address,
    key,
    dataDir,
    folder,
    save,
    url,
    post,
    async call(slug, method, params = [], id = 1) {
      const response = await post(slug, JSON.stringify({ jsonrpc: '2.0', id, method, params }));
      return (await response.json()) as JsonRpcResponse;
    },
    async stop() {
      await gateway.drain();
      for (const made of [folder, memory]) rmSync(made, { recursive: true, force: true });
    },
  };
}

/**
 * The content of a network file with these upstream URLs, named node-0, node-1 and so on. They get no batches, because which
 * calls share one depends on the load of the machine.
 */
export function network(chainId: number, urls: readonly string[], more: object = {}): object {
  return {
    name: `Test ${chainId}`,
    chainId,
    upstreams: urls.map((url, index) => ({ name: `node-${index}`, url, batch: false })),
    ...more,
  };
}
