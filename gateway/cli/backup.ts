import { once } from 'node:events';
import { createReadStream, createWriteStream, rmSync } from 'node:fs';
import { finished } from 'node:stream/promises';
import { Command } from 'commander';
import { keyIdOf } from '../auth/formats/key.ts';
import type { KeyStore } from '../auth/stores/key-store.ts';
import { backUp } from '../backup/back-up.ts';
import { BackupError, checkBackup, restore } from '../backup/restore.ts';
import { errorCode } from '../config/log.ts';
import type { UsageStore } from '../usage/usage-store.ts';
import { examples, withStores, type CommandContext } from './command-context.ts';

interface RestoreOptions {
  readonly check?: true;
  readonly skipUnreadable?: true;
  readonly json?: true;
}

const SKIP_ADVICE = 'Nothing is restored. With --skip-unreadable, everything else is.';

/** Makes the commands `gatehouse backup` and `gatehouse restore`. Failures that an operator can fix are BackupErrors. */
export function backupCommands(context: Pick<CommandContext, 'settings' | 'out'>): Command[] {
  const { out } = context;
  const backup = new Command('backup')
    .description('Write all keys, as digests, and their usage to a new file')
    .argument('<file>', 'path of the file, which must not exist')
    .option('--json', 'print {"file":…,"keys":…,"days":…}')
    .addHelpText('after', examples('backup keys-2027-01-31.jsonl'))
    .action((path: string, { json }: { json?: true }) =>
      withStores(context, async ({ keys, usage }) => {
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
    .option('--check', 'only read the file, and write nothing')
    .option('--skip-unreadable', 'restore the rest of a file with lines that cannot be read')
    .option(
      '--json',
      'print {"keys":{"added":…,"there":…},"days":{…},"unreadable":[…]}; with --check {"keys":…,"days":…,…}',
    )
    .addHelpText('after', examples('restore keys-2027-01-31.jsonl', 'restore keys-2027-01-31.jsonl --check'))
    .action(async (path: string, { check, skipUnreadable, json }: RestoreOptions) => {
      const { keys: keyCount, days, unreadable } = await checkBackup(linesOf(path));
      if (unreadable.length > 0 && !skipUnreadable) throw new BackupError([...unreadable, SKIP_ADVICE].join('\n'));
      const print = (found: object, text: string): void => {
        const skipped = unreadable.map((line) => `Skipped ${line}\n`).join('');
        out(json ? `${JSON.stringify({ ...found, unreadable })}\n` : skipped + text);
      };
      if (check) {
        print({ keys: keyCount, days }, `${path}: ${keyCount} keys, ${days} days of usage\n`);
        return;
      }
      await withStores(context, async ({ keys, usage, manager }) => {
        const found = await restore(linesOf(path), keys, usage, (digest) => manager.audit('import', keyIdOf(digest)));
        const { added, there, expired } = found.days;
        const keysText = `Keys: ${found.keys.added} added, ${found.keys.there} already there\n`;
        print(found, `${keysText}Days of usage: ${added} added, ${there} already there, ${expired} expired\n`);
      });
    });
  return [backup, restoring];
}

async function writeBackup(path: string, keys: KeyStore, usage: UsageStore): ReturnType<typeof backUp> {
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

/** Divides at `\n` only: names may have other separators, at which readline divides too. */
async function* linesOf(path: string): AsyncIterable<string> {
  let rest = '';
  try {
    for await (const chunk of createReadStream(path, 'utf8')) {
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch (error) {
    throw fileError(path, error);
  }
  if (rest !== '') yield rest;
}

function fileError(path: string, error: unknown): unknown {
  const code = errorCode(error);
  if (code === 'EEXIST') return new BackupError(`${path} exists: choose another name`);
  return error instanceof Error && 'syscall' in error ? new BackupError(`${path}: ${code}`) : error;
}
