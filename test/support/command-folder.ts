import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import type { PermissionTexts } from '../../gateway/auth/permissions/permissions.ts';
import { cleanups } from './cleanups.ts';
import { startGateway, type TestGateway } from './gateway.ts';
import { openKeys } from './open-keys.ts';
import { runCommand, type Ran } from './run-command.ts';

export interface AddedKey {
  readonly name?: string;
  readonly permissions?: PermissionTexts;
  readonly redisUrl?: string | undefined;
}

/** A gateway in the process of the test. */
export interface Served extends Omit<TestGateway, 'save'> {
  /** What it has logged until now. */
  log(): string;
}

/** A working directory for the commands and gateways of one test, which run in its process. */
export class CommandFolder {
  readonly folder = mkdtempSync(join(tmpdir(), 'gatehouse-e2e-'));
  readonly #serving = new Set<Served>();

  /** Writes network files, which replace the included ones. */
  withNetworks(networks: Readonly<Record<string, object | string>>): this {
    const folder = join(this.folder, 'networks');
    mkdirSync(folder, { recursive: true });
    for (const [slug, file] of Object.entries(networks)) {
      writeFileSync(join(folder, `${slug}.yaml`), typeof file === 'string' ? file : JSON.stringify(file));
    }
    return this;
  }

  /** Runs `gatehouse <args>` in this folder. */
  run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
    return runCommand(args, { env, folder: this.folder });
  }

  /** Starts a gateway with the files of this folder, and a valid key. */
  async serve(env: Readonly<Record<string, string>> = {}): Promise<Served> {
    let logged = '';
    const log = pino({ level: env['LOG_LEVEL'] ?? 'info', base: null }, { write: (line) => (logged += line) });
    const folders = { NETWORKS_DIR: join(this.folder, 'networks'), DATA_DIR: join(this.folder, '.gatehouse') };
    const gateway = await startGateway({}, { ...folders, ...env }, log);
    const served: Served = {
      ...gateway,
      log: () => logged,
      stop: async () => {
        if (this.#serving.delete(served)) await gateway.stop();
      },
    };
    this.#serving.add(served);
    // If the set-up of the test fails.
    cleanups.push(() => served.stop());
    return served;
  }

  /**
   * Adds a key as `gatehouse keys create` does.
   * @param of its name and permissions, and the Redis of its gateways. Default: the file of this folder
   * @returns the key
   */
  async addKey({ name = 'test', permissions = {}, redisUrl }: AddedKey = {}): Promise<string> {
    const keys = openKeys({ DATA_DIR: join(this.folder, '.gatehouse'), REDIS_URL: redisUrl });
    try {
      await keys.store.waitUntilReady(20_000);
      const key = makeKey();
      await keys.add(digestOf(key), { name, createdAt: new Date().toISOString(), permissions });
      return key;
    } finally {
      await keys.close();
    }
  }

  /** Stops its gateways, and removes the folder. */
  async close(): Promise<void> {
    await Promise.all([...this.#serving].map((gateway) => gateway.stop()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}
