import type { ChildProcess, StdioOptions } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLog } from '../gateway/config/log.ts';
import { packageRoot } from '../gateway/config/package.ts';
import type { PermissionTexts } from '../gateway/auth/permissions/permissions.ts';
import { KeyStore, type StoredKey } from '../gateway/auth/stores/key-store.ts';
import { digestOf, makeKey } from '../gateway/auth/formats/key.ts';
import { openStore } from '../gateway/store/open-store.ts';
import { pinned } from './pinning.ts';
import { freePorts, node as ownNode, pidOf, start, untilReady } from './processes.ts';

export interface GatewaySetup {
  /** Network files by slug. */
  readonly networks: Readonly<Record<string, object>>;
  /** Number of keys. Default: 1. */
  readonly keys?: number;
  /** Permissions and limits of every key. */
  readonly permissions?: PermissionTexts;
  /** The Redis for keys and limits. Undefined: the file, and limits in memory. */
  readonly redisUrl?: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments of node. Default: the compiled gateway. */
  readonly script?: readonly string[];
  readonly stdio?: StdioOptions;
  /** The Node that runs it. Default: that of `--node`. */
  readonly node?: string | undefined;
}

export interface StartedGateway {
  readonly port: number;
  readonly pid: number;
  readonly child: ChildProcess;
  readonly dataDir: string;
  /** `/<slug>/v3/<key>` for each key. Networks are assigned to keys in turn. */
  readonly paths: readonly string[];
}

/** Starts a compiled gateway in a separate process, and waits until it is ready. @param folder for its files */
export async function startGateway(folder: string, setup: GatewaySetup): Promise<StartedGateway> {
  const networks = join(folder, 'networks');
  mkdirSync(networks, { recursive: true });
  for (const [slug, file] of Object.entries(setup.networks)) {
    writeFileSync(join(networks, `${slug}.yaml`), JSON.stringify(file));
  }
  const keys = await storeKeys(folder, setup);
  const [port = 0] = await freePorts(1);
  const script = setup.script ?? [join(packageRoot, 'dist/bundle/main.js')];
  const own = { PORT: String(port), NETWORKS_DIR: networks, DATA_DIR: folder, LOG_LEVEL: 'error' };
  const redis: Record<string, string> = setup.redisUrl === undefined ? {} : { REDIS_URL: setup.redisUrl };
  const env = { PATH: process.env['PATH'], ...own, ...redis, ...setup.env };
  const child = start(...pinned(setup.node ?? ownNode, [...script, 'start']), env, setup.stdio);
  await untilReady(`http://127.0.0.1:${port}/readyz`);
  const slugs = Object.keys(setup.networks);
  const paths = keys.map((key, index) => `/${slugs[index % slugs.length] ?? ''}/v3/${key}`);
  return { port, pid: pidOf(child), child, dataDir: folder, paths };
}

async function storeKeys(
  folder: string,
  { keys: count = 1, permissions = {}, redisUrl }: GatewaySetup,
): Promise<string[]> {
  const keys = Array.from({ length: count }, makeKey);
  const record: StoredKey = { name: 'bench', createdAt: new Date().toISOString(), permissions };
  const entries = keys.map((key) => [digestOf(key), record] as const);
  const log = openLog('silent');
  const store = openStore({ REDIS_URL: redisUrl, DATA_DIR: folder }, log);
  await store.waitUntilReady(5_000);
  const stored = new KeyStore(store, log);
  for (let from = 0; from < count; from += 500) {
    await Promise.all(entries.slice(from, from + 500).map(([digest, key]) => stored.add(digest, key)));
  }
  await store.close();
  return keys;
}
