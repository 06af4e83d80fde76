import { once } from 'node:events';
import { createReadStream, createWriteStream, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { finished } from 'node:stream/promises';
import { Command } from 'commander';
import { keyIdOf } from '../auth/formats/key.ts';
import { KeyManager } from '../auth/manage/manage-keys.ts';
import { openKeyStore } from '../auth/stores/open-key-store.ts';
import type { KeyStore } from '../auth/stores/key-store.ts';
import { backUp } from '../backup/back-up.ts';
import { BackupError, checkBackup, restore } from '../backup/restore.ts';
import { errorCode, openLog } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import { methodNames } from '../spec/method-facts.ts';
import { openUsageStore } from '../usage/open-usage-store.ts';
import type { ListedUsageStore } from '../usage/usage-store.ts';
import { examples } from './examples.ts';
import { OPEN_TIMEOUT_MS } from './keys.ts';

type StoreSettings = () => Pick<Settings, 'REDIS_URL' | 'DATA_DIR'>;

/** Makes the commands `gatehouse backup` and `gatehouse restore`. Failures that an operator can fix are BackupErrors. */
export function backupCommands(settings: StoreSettings, out: (text: string) => void): Command[] {
  const backup = new Command('backup')
    .description('Write all keys, as digests, and their usage to a new file')
    .argument('<file>', 'path of the file, which must not exist')
    .option('--json', 'print {"file":…,"keys":…,"days":…}')
    .addHelpText('after', examples('backup keys-2027-01-31.jsonl'))
    .action((path: string, { json }: { json?: true }) =>
      withStores(settings, async (keys, usage) => {
        const { keys: count, days } = await writeBackup(path, keys, usage);
        const line = json
          ? JSON.stringify({ file: path, keys: count, days })
          : `${path}: ${count} keys, ${days} days of usage`;
        out(`${line}\n`);
      }),
    );
  const restoring = new Command('restore')
    .description('Add the keys and the usage of a backup that are missing; existing keys stay as they are')
    .argument('<file>', 'a file of `backup`')
    .option('--json', 'print {"keys":{"added":…,"there":…},"days":{…}}')
    .addHelpText('after', examples('restore keys-2027-01-31.jsonl'))
    .action((path: string, { json }: { json?: true }) =>
      withStores(settings, async (keys, usage) => {
        await checkBackup(linesOf(path));
        const manager = new KeyManager(keys, methodNames);
        const found = await restore(linesOf(path), keys, usage, (digest) => manager.auditImport(keyIdOf(digest)));
        if (json) {
          out(`${JSON.stringify(found)}\n`);
          return;
        }
        const { added, there, expired } = found.days;
        out(`Keys: ${found.keys.added} added, ${found.keys.there} already there\n`);
        out(`Days of usage: ${added} added, ${there} already there, ${expired} expired\n`);
      }),
    );
  return [backup, restoring];
}

async function withStores(
  settings: StoreSettings,
  work: (keys: KeyStore, usage: ListedUsageStore) => Promise<void>,
): Promise<void> {
  const log = openLog('silent');
  const [keys, usage] = [openKeyStore(settings(), log), openUsageStore(settings(), log)];
  try {
    await keys.waitUntilReady(OPEN_TIMEOUT_MS);
    await usage.waitUntilReady(OPEN_TIMEOUT_MS);
    await work(keys, usage);
  } finally {
    await Promise.all([keys.close(), usage.close()]);
  }
}

async function writeBackup(path: string, keys: KeyStore, usage: ListedUsageStore): ReturnType<typeof backUp> {
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600 });
  await once(file, 'open').catch((error: unknown) => {
    throw fileError(path, error);
  });
  try {
    const counts = await backUp(keys, usage, async (text) => {
      if (!file.write(text)) await once(file, 'drain');
    });
    file.end();
    await finished(file);
    return counts;
  } catch (error) {
    file.destroy();
    rmSync(path, { force: true });
    throw fileError(path, error);
  }
}

async function* linesOf(path: string): AsyncIterable<string> {
  try {
    yield* createInterface({ input: createReadStream(path), crlfDelay: Infinity });
  } catch (error) {
    throw fileError(path, error);
  }
}

function fileError(path: string, error: unknown): unknown {
  const code = errorCode(error);
  if (code === 'EEXIST') return new BackupError(`${path} exists: choose another name`);
  return error instanceof Error && 'syscall' in error ? new BackupError(`${path}: ${code}`) : error;
}
