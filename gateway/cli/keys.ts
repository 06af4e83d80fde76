import { Command, CommanderError } from 'commander';
import { openLog } from '../config/log.ts';
import { SettingsError, type Settings } from '../config/settings.ts';
import { durationOf } from '../auth/formats/duration.ts';
import { mergePermissions, KeyStoreError, type KeyStore } from '../auth/stores/key-store.ts';
import { isWellFormedKey } from '../auth/formats/key.ts';
import { importKeys } from '../auth/manage/import-keys.ts';
import { InvalidPermissionsError } from '../auth/permissions/permissions.ts';
import { KeyManager, readName, type CreatedKey } from '../auth/manage/manage-keys.ts';
import { openKeyStore } from '../auth/stores/open-key-store.ts';
import { displayedRecord } from '../auth/manage/displayed-record.ts';
import { methodNames } from '../spec/method-names.ts';
import { openUsageStore } from '../usage/open-usage-store.ts';
import { lastDays, usageRetentionDays } from '../usage/usage-store.ts';
import { addPermissionOptions, permissionsFrom } from './key-options.ts';
import { onceTexts, permissionsText, tableOf, usageTable } from './show-keys.ts';

/** Redis may be just starting beside us; longer than this nobody likes to wait. */
const openTimeoutMs = 1_500;

export interface KeysCommandContext {
  readonly settings: () => Pick<Settings, 'REDIS_URL' | 'DATA_DIR'>;
  /** Standard input, for `--key-stdin`. */
  readonly input: AsyncIterable<Uint8Array | string>;
  /** Write text, as it is, to standard output and standard error. */
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/**
 * `gatehouse keys …`. Every failure that a person can mend is printed as one line and thrown as a CommanderError,
 * whose `exitCode` is the process'.
 */
export function keysCommand(context: KeysCommandContext): Command {
  const { out } = context;
  const keys = new Command('keys')
    .description('Make, list, change and revoke keys')
    .exitOverride()
    .configureOutput({ writeOut: out, writeErr: context.err });

  const withStore = (work: (store: KeyStore) => Promise<void>): Promise<void> =>
    attempt(keys, async () => {
      const store = openKeyStore(context.settings(), openLog('silent'));
      try {
        await store.waitUntilReady(openTimeoutMs);
        await work(store);
      } finally {
        await store.close();
      }
    });

  const withManager = (work: (manager: KeyManager) => Promise<void>): Promise<void> =>
    withStore((store) => work(new KeyManager(store, methodNames)));
  const told = (made: CreatedKey, json: true | undefined, sentence: string): void => {
    out(json ? `${JSON.stringify(made)}\n` : `${sentence}${onceTexts(made)}\n`);
    for (const warning of made.warnings ?? []) context.err(`warning: ${warning}\n`);
  };

  const create = keys
    .command('create')
    .description('Make a key; it is shown once')
    .requiredOption('--name <name>', 'who or what it is for: 1 to 64 printable characters')
    .option('--json', 'print {"id":…,"key":…}')
    .option('--key-stdin', 'take over a key of another service (32 hexadecimal digits) from standard input');
  addPermissionOptions(create)
    .option('--secret', 'demand a secret besides, as the password of Basic authentication; it is made and shown once')
    .addHelpText(
      'after',
      '\nEntries are separated by commas.\n' +
        examples(
          'create --name alice',
          'create --name dapp --networks base,linea --origins app.example.org --rate 50 --daily 100000',
          'create --name backend --ips 10.0.0.0/8 --secret --json',
        ),
    )
    .action((options: { name: string; json?: true; keyStdin?: true; secret?: true }) =>
      withManager(async (manager) => {
        const name = checkedName(options.name);
        const given = options.keyStdin ? await readKey(context.input) : undefined;
        const permissions = mergePermissions(undefined, permissionsFrom(options));
        const made = await manager.create(name, permissions, {
          ...(given !== undefined && { given }),
          withSecret: options.secret === true,
        });
        told(made, options.json, `Key ${made.id} for ${name}${given === undefined ? '' : ' taken over'}`);
      }),
    );

  keys
    .command('list')
    .description('List all keys, revoked ones too')
    .option('--json', 'print an array of records on one line')
    .addHelpText('after', examples('list', 'list --json'))
    .action((options: { json?: true }) =>
      withManager(async (manager) => {
        const records = await manager.list();
        if (options.json) out(`${JSON.stringify(records.map(displayedRecord))}\n`);
        else if (records.length === 0) out('No keys yet. Make one: gatehouse keys create --name <name>\n');
        else out(tableOf(records));
      }),
    );

  keys
    .command('show')
    .description('Show what is known of a key, and what it may do')
    .argument('<id>', 'as `keys list` shows it')
    .option('--json', 'print the record on one line')
    .addHelpText('after', examples('show 0123456789ab', 'show 0123456789ab --json'))
    .action((id: string, options: { json?: true }) =>
      withManager(async (manager) => {
        const record = await manager.show(id);
        if (options.json) out(`${JSON.stringify(displayedRecord(record))}\n`);
        else out(tableOf([record]) + permissionsText(record));
      }),
    );

  addPermissionOptions(
    keys
      .command('update')
      .description('Change what a key may do, on all gateways within a second; an empty value takes a rule away')
      .argument('<id>', 'as `keys list` shows it')
      .option('--json', 'print {"id":…} and, where one was made, the secret'),
  )
    .option('--secret', 'demand a new secret in place of all others; it is shown once')
    .option('--no-secret', 'demand no secret any more')
    .addHelpText('after', examples('update 0123456789ab --rate 20 --burst 100', 'update 0123456789ab --origins ""'))
    .action((id: string, options: { json?: true; secret?: boolean }) =>
      withManager(async (manager) => {
        const change = permissionsFrom(options);
        if (Object.keys(change).length === 0 && options.secret === undefined) {
          throw new UsageError('Nothing to change: see gatehouse keys update --help');
        }
        told(await manager.update(id, change, options.secret), options.json, `Key ${id} is changed`);
      }),
    );

  keys
    .command('rotate')
    .description('Make a new key with the same rules; the old one goes on for a while')
    .argument('<id>', 'as `keys list` shows it')
    .option('--grace <time>', 'how long the old one goes on: 7d, 24h, 0m', '24h')
    .option('--secret', 'make a new secret instead; the key stays as it is')
    .option('--json', 'print what was made')
    .addHelpText('after', examples('rotate 0123456789ab --grace 7d', 'rotate 0123456789ab --secret'))
    .action((id: string, options: { grace: string; secret?: true; json?: true }) =>
      withManager(async (manager) => {
        const graceMs = durationOf(options.grace);
        if (graceMs === undefined) throw new UsageError('--grace: expected a time such as 7d, 24h or 0m');
        const made = options.secret ? await manager.rotateSecret(id, graceMs) : await manager.rotate(id, graceMs);
        const what = options.secret ? `A new secret for key ${id}` : `Key ${made.id} in place of ${id}`;
        told(made, options.json, `${what}; the old one ends in ${options.grace}`);
      }),
    );

  keys
    .command('revoke')
    .description('End a key on all gateways, within a second')
    .argument('<id>', 'as `keys list` shows it')
    .option('--json', 'print the record on one line')
    .addHelpText('after', examples('revoke 0123456789ab'))
    .action((id: string, options: { json?: true }) =>
      withManager(async (manager) => {
        const record = await manager.revoke(id);
        if (options.json) out(`${JSON.stringify(displayedRecord(record))}\n`);
        else out(`Key ${id} (${record.name}) is revoked.\n`);
      }),
    );

  keys
    .command('usage')
    .description('Show what a key did, by day, network and method')
    .argument('<id>', 'as `keys list` shows it')
    .option('--days <number>', `of the last so many days, ${usageRetentionDays} at most`, '30')
    .option('--json', 'print an array of rows on one line')
    .addHelpText('after', examples('usage 0123456789ab --days 7 --json'))
    .action((id: string, options: { days: string; json?: true }) =>
      withManager(async (manager) => {
        const days = Number(options.days);
        if (!(Number.isInteger(days) && days >= 1 && days <= usageRetentionDays)) {
          throw new UsageError(`--days: expected a whole number from 1 to ${usageRetentionDays}`);
        }
        await manager.show(id);
        const usage = openUsageStore(context.settings(), openLog('silent'));
        try {
          await usage.waitUntilReady(openTimeoutMs);
          const rows = await usage.read(id, lastDays(days));
          if (options.json) out(`${JSON.stringify(rows)}\n`);
          else out(rows.length === 0 ? 'Nothing so far.\n' : usageTable(rows));
        } finally {
          await usage.close();
        }
      }),
    );

  keys
    .command('import')
    .description('Carry the keys of the key file in DATA_DIR over to Redis; may be repeated')
    .option('--json', 'print {"added":…,"there":…,"leftOut":…}')
    .addHelpText('after', examples('import', 'import --json'))
    .action((options: { json?: true }) =>
      withStore(async (store) => {
        const imported = await importKeys(context.settings().DATA_DIR, store, new KeyManager(store));
        const { added, there, leftOut } = imported;
        const sentence = `Carried over to Redis: ${added}; there already: ${there}; development keys left out: ${leftOut}.`;
        out(`${options.json ? JSON.stringify(imported) : sentence}\n`);
      }),
    );

  return keys;
}

/** For a command's help. */
function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  gatehouse keys ${line}`).join('\n')}`;
}

/** Something a person asked for that cannot be done; the message says why. */
class UsageError extends Error {}

async function attempt(command: Command, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof CommanderError) throw error;
    const known = [UsageError, KeyStoreError, InvalidPermissionsError, SettingsError].some(
      (kind) => error instanceof kind,
    );
    // What the operating system says of a file (EACCES …) is one clear line, too.
    const ofSystem = error instanceof Error && 'syscall' in error;
    if (known || ofSystem) command.error((error as Error).message, { exitCode: 1, code: 'gatehouse.keys' });
    throw error;
  }
}

function checkedName(name: string): string {
  const read = readName(name);
  if (read === undefined) throw new UsageError('--name: expected 1 to 64 printable characters');
  return read;
}

async function readKey(input: AsyncIterable<Uint8Array | string>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(Buffer.from(chunk));
  const key = Buffer.concat(chunks).toString().trim();
  if (!isWellFormedKey(key))
    throw new UsageError('--key-stdin: expected a key of 32 hexadecimal digits on standard input');
  return key;
}
